(** * What an answer depends on: the lower bounds' side of a transformer.

    A model is a frame, a transformer of any depth, attention, mask and size, and a subject table: d numbers a row,
    coordinate j chosen among 2^b values. The logits of (x, w) are a function of the frame, the word and the row of x
    alone ([logits_row]), so the answer is what [read] says of these ([read_right]). With a read-out that may depend on
    the facts, the logit of a is a function of the frame, the word, the row of x and the row of a ([logit_rows]). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** A row of d numbers of b bits. *)
Definition row_bits (d b : nat) := {ffun 'I_d -> 'I_(2 ^ b)}.

Lemma card_row_bits d b : #|{: row_bits d b}| = (2 ^ (d * b))%N.
Proof. by rewrite card_ffun !card_ord -expnM mulnC. Qed.

Section Decode.
Variables (F : realFieldType) (N R d b : nat).

(** What the bits mean: 2^b values for each coordinate. *)
Variable value : 'I_d -> 'I_(2 ^ b) -> F.

(** The subject table, and the read-out, that bits stand for. *)
Definition subjects (rows : 'I_N -> row_bits d b) : 'M[F]_(N, d) := \matrix_(x, j) value j (rows x j).
Definition readout (rows : 'I_N -> row_bits d b) : 'M[F]_(d, N) := \matrix_(j, a) value j (rows a j).

Implicit Type M : transformer F N R N d.

Lemma embed_row M E E' k x x' (w : k.-tuple 'I_R) : row x E = row x' E' ->
  embed (with_subjects M E) (prompt x w) = embed (with_subjects M E') (prompt x' w).
Proof.
move=> same; apply/matrixP=> t j; rewrite [LHS]mxE [RHS]mxE; congr (_ + _).
case: t => [[|t] t_lt]; rewrite !(tnth_nth (lshift R x)).
  transitivity (E x j); first exact: (col_mxEu E (dsubmx (W_E M))).
  transitivity (E' x' j); last by symmetry; exact: (col_mxEu E' (dsubmx (W_E M))).
  by move/rowP: same => /(_ j); rewrite !mxE.
have t_lt' : (t < k)%N by [].
rewrite /= !(nth_map (tnth w (Ordinal t_lt'))) ?size_tuple //.
by transitivity (dsubmx (W_E M) (nth (tnth w (Ordinal t_lt')) w t) j);
   [exact: (col_mxEd E (dsubmx (W_E M))) | symmetry; exact: (col_mxEd E' (dsubmx (W_E M)))].
Qed.

(** With another subject table, what happens in a prompt (x, ..) depends on the row of x alone. *)
Lemma logits_row M E E' k x x' (w : k.-tuple 'I_R) : row x E = row x' E' ->
  logits (with_subjects M E) (prompt x w) = logits (with_subjects M E') (prompt x' w).
Proof. by move=> same; rewrite /logits (embed_row M w same). Qed.

(** With another read-out too, the logit of a depends on the row of x and the row of a alone. *)
Lemma logit_rows M E E' U U' k x (w : k.-tuple 'I_R) a : row x E = row x E' -> col a U = col a U' ->
  logits (with_readout (with_subjects M E) U) (prompt x w) 0 a =
  logits (with_readout (with_subjects M E') U') (prompt x w) 0 a.
Proof.
move=> same_row /colP same_col; rewrite /logits.
have -> : embed (with_readout (with_subjects M E) U) (prompt x w) = embed (with_readout (with_subjects M E') U') (prompt x w).
  exact: (embed_row M w same_row).
rewrite !mxE; congr (_ + _); apply: eq_bigr => j _; congr (_ * _).
by have := same_col j; rewrite !mxE.
Qed.

(** The answer, if there is one. *)
Definition answer M n (tokens : n.+1.-tuple 'I_(N + R)) : option 'I_N :=
  [pick a | [forall a' : 'I_N, (a' != a) ==> (logits M tokens 0 a' < logits M tokens 0 a)]].

Lemma answerP M n (tokens : n.+1.-tuple 'I_(N + R)) a : predicts M tokens a -> answer M tokens = Some a.
Proof.
move=> wins; rewrite /answer; case: pickP => [a' /forallP best|/(_ a)/negbT/negP[]]; last first.
  by apply/forallP=> a'; apply/implyP/wins.
congr Some; apply/eqP; apply: contraT => differ; have := wins a' differ.
by have /implyP := best a; rewrite eq_sym => /(_ differ)/lt_trans lt /lt; rewrite ltxx.
Qed.

(** What the frame answers to a word from a row. *)
Definition read M (x0 : 'I_N) (row : row_bits d b) k (w : k.-tuple 'I_R) : option 'I_N :=
  answer (with_subjects M (subjects (fun=> row))) (prompt x0 w).

Lemma read_right M rows x0 k (g : fact_system N R) : answers_all (with_subjects M (subjects rows)) k g ->
  forall x (w : k.-tuple 'I_R), read M x0 (rows x) w = Some (follow g w x).
Proof.
move=> right x w; apply: answerP => a differ; have := right x w a differ.
by rewrite (@logits_row M _ (subjects (fun=> rows x)) k x x0) //; apply/rowP=> j; rewrite !mxE.
Qed.
End Decode.

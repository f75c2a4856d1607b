(** * T2. k hops in one pass, fixed read-out. Mirrors [constructions/weights/t2.py].

    For all N >= 2, R >= 1, k >= 1, b >= 1 and any R maps of N entities (permutations or not): d = width = R^k·⌈p/b⌉,
    subject entries in 0..2^b - 1, hardmax attention, all N·R^k queries answered in one pass with margin at least 1;
    nothing but the subject table depends on the facts. Idea: the row of x has a block of digits c(g_w(x)) for each word
    w; the heads read the relations and write -2^b·(mismatch) on every block, so that the ReLU closes all blocks but the
    word's.

    Main theorems: [T2], [T2_size], [T2_entries], [T2_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

Section Weights.
Variables (N R k b : nat) (g : nat -> nat -> nat).
Let q := code_digits N b.
Let d := (R ^ k * q)%N.
Let largest := (2 ^ b).-1.

Definition t2_gate (i v j : nat) : int := - (2 ^ b)%N%:Z * linear R 0 (letter R k (j %/ q) i) v.
Definition t2_bias (j : nat) : int :=
  - (2 ^ b)%N%:Z * sum k (fun i => constant R 0 (letter R k (j %/ q) i)) - reading_position R k d largest 0 j.

Definition t2 : weights :=
  {| dimension := d;
     subject := fun x j => digit b (walk g (letters R k (j %/ q)) x) (j %% q);
     relation := code R 0;
     position := reading_position R k d largest;
     layers := [:: reading_layer R k d 0 d d t2_gate identity t2_bias (sum_of_blocks q 1)];
     unembed := readout_by_distance b q;
     unbias := bias_by_distance b q;
     attends := Hardmax; adds := false; masked := false |}.
End Weights.

(** Relation tokens have room. *)
Lemma room R k q : (0 < R)%N -> (0 < k)%N -> (0 < q)%N -> (coordinates_needed R k 0 <= R ^ k * q)%N.
Proof.
move=> R0 k0 q0; rewrite /coordinates_needed /columns /placed.
have [|R2] := leqP R 1; first by case: R R0 => [|[|]] // _ _; rewrite /= exp1n; lia.
have Rk : (R * R ^ k.-1 = R ^ k)%N by rewrite -expnS prednK.
have pow : (1 < k)%N -> (2 <= R ^ k.-1)%N by move=> k2; rewrite (leq_trans R2) // -{1}(expn1 R) leq_exp2l //; lia.
have pow1 : (0 < R ^ k.-1)%N by rewrite expn_gt0 R0.
by case: (ltnP 1 k) => k_small; [have := pow k_small | ]; rewrite /=; nia.
Qed.

Section Theorems.
Variables (F : realFieldType) (N R k b : nat).

Definition T2_model (g : fact_system N R) := over F N R N (t2 N R k b (table g)).

(** All queries of k hops are answered with margin at least 1. *)
Theorem T2 (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N ->
  answers_all_with_margin (T2_model g) k 1 g.
Proof.
move=> N2 R1 k1 b1 x w a differ; have q0 := code_digits_gt0 N2 b1.
set q := code_digits N b in q0; have B0 : (0 < 2 ^ b)%N by rewrite expn_gt0.
have small y j : `|subject (t2 N R k b (table g)) y j| <= (2 ^ b).-1%:Z.
  rewrite /= -/q; have := digit_lt b (walk (table g) (letters R k (j %/ q)) y) (j %% q).
  by move: (digit _ _ _) (2 ^ b)%N => u v; lia.
have c_d : (columns R 0 <= R ^ k * q <= R ^ k * q)%N.
  by rewrite leqnn andbT; have := room R1 k1 q0; rewrite /coordinates_needed; lia.
have logit := @logits_reading F N R k (t2 N R k b (table g)) _ _ _ _ _ _ _ k1 R1 (room R1 k1 q0) c_d erefl erefl erefl
  erefl (fun _ _ => erefl) small x w N.
rewrite !logit {logit} -[1]/(1%:~R) -rmorphD ler_int.
set att := attended_reading _ _ _ _ _ _; set L := reading_layer _ _ _ _ _ _ _ _ _ _.
pose n := number R (numbers w); have n_lt : (n < R ^ k)%N := number_word_lt w.
have gate j : (j < R ^ k * q)%N -> hidden (R ^ k * q) L att j =
    Num.max 0 ((digit b (walk (table g) (letters R k (j %/ q)) x) (j %% q))%:Z -
      (2 ^ b)%N%:Z * mismatch R k (j %/ q) (numbers w)).
  move=> j_d; rewrite hidden_identity // /att /attended_reading j_d /= /t2_bias sumE.
  set e := (digit _ _ _)%:Z; set z := reading_position _ _ _ _ _ _.
  have -> : mismatch R k (j %/ q) (numbers w) =
      \sum_(i < k) \sum_(v < columns R 0) code R 0 (nth 0%N (numbers w) i) v * linear R 0 (letter R k (j %/ q) i) v +
      \sum_(i < k) constant R 0 (letter R k (j %/ q) i).
    rewrite -big_split; apply: eq_bigr => i _ /=; rewrite mismatchE //.
      by apply: numbers_small; apply: mem_nth; rewrite size_numbers.
    by rewrite ltn_pmod.
  have -> : \sum_(i < k) \sum_(v < columns R 0) code R 0 (nth 0%N (numbers w) i) v * t2_gate N R k b i v j =
      - (2 ^ b)%N%:Z * \sum_(i < k) \sum_(v < columns R 0) code R 0 (nth 0%N (numbers w) i) v *
        linear R 0 (letter R k (j %/ q) i) v.
    rewrite mulr_sumr; apply: eq_bigr => i _; rewrite mulr_sumr; apply: eq_bigr => v _.
    by rewrite /t2_gate -/q mulrCA.
  by congr (Num.max 0 _); move: (\sum_(i < k) _) (\sum_(i < k) _) => s1 s2; rewrite -/q; lia.
apply: read_digits => // [|j j_q]; first by rewrite leq_pmull // expn_gt0 R1.
rewrite (@mlp_open _ _ _ (R ^ k) q n 1) // => [|i i_d other].
  rewrite j_q gate ?entry_lt // divnMDl // modnMDl divn_small // modn_small // addn0 /= addr0 mulr1.
  by rewrite mismatch_asked mulr0 subr0 letters_word walk_follow max_r.
rewrite gate //; apply/max_idPl.
have := digit_lt b (walk (table g) (letters R k (i %/ q)) x) (i %% q).
have i_lt : (i %/ q < R ^ k)%N by rewrite ltn_divLR.
by have := mismatch_other i_lt other; nia.
Qed.

(** d = R^k·⌈p/b⌉, and one block, of that width. *)
Theorem T2_size (g : fact_system N R) : dimension (t2 N R k b (table g)) = (R ^ k * code_digits N b)%N /\
  widths (T2_model g) = [:: (R ^ k * code_digits N b)%N].
Proof. by []. Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T2_entries (g : fact_system N R) x j : exists v : 'I_(2 ^ b), W_E (T2_model g) (lshift R x) j = (v : nat)%:R.
Proof.
by exists (Ordinal (digit_lt b (walk (table g) (letters R k (j %/ code_digits N b)) x) (j %% code_digits N b)));
   rewrite col_mxEu mxE.
Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T2_universal : universal T2_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T2_model /over /over_with /= col_mxKd. Qed.
End Theorems.

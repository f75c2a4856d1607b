(** * Words as numbers, and relation codes whose mismatches are linear ([constructions/weights/blocks.py],
    [parts.RelationCode]).

    The R^k words of k relations are numbered in lexicographic order. Relation r has the number z = first + r and the
    code (z, z²), or as much of it as is needed; the squared mismatch (z - t)² is linear in the code ([mismatchE]), and
    adds up over the places of a word to 0 on the word asked and to at least 1 on every other ([mismatch_asked],
    [mismatch_other]). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Words *)

(** Relation number i of word number n among the words of k relations. *)
Definition letter (R k n i : nat) : nat := ((n %/ R ^ (k.-1 - i)) %% R)%N.
Definition letters (R k n : nat) : seq nat := [seq letter R k n i | i <- iota 0 k].

(** The number of a word. *)
Definition number (R : nat) (w : seq nat) : nat := foldl (fun n r => (n * R + r)%N) 0%N w.

(** The entity that a word leads to, by the table of answers. *)
Definition walk (g : nat -> nat -> nat) (w : seq nat) (x : nat) : nat := foldl (fun y r => g r y) x w.

Lemma number_rcons R w r : number R (rcons w r) = (number R w * R + r)%N.
Proof. by rewrite /number foldl_rcons. Qed.

Lemma letterS R k n i : (i < k)%N -> letter R k.+1 n i = letter R k (n %/ R) i.
Proof.
move=> i_k; rewrite /letter /= -divnMA -expnS (_ : (k.-1 - i).+1 = k - i)%N //; lia.
Qed.

Lemma letters_rcons R k n : letters R k.+1 n = rcons (letters R k (n %/ R)) (n %% R)%N.
Proof.
rewrite /letters -cats1 -[in iota _ _]addn1 iotaD map_cat /= /letter /= subnn expn0 divn1; congr (_ ++ _).
by apply/eq_in_map=> i; rewrite mem_iota => /andP[_ i_k]; apply: letterS.
Qed.

Lemma size_letters R k n : size (letters R k n) = k.
Proof. by rewrite size_map size_iota. Qed.

Lemma nth_letters R k n i : (i < k)%N -> nth 0%N (letters R k n) i = letter R k n i.
Proof. by move=> i_k; rewrite (nth_map 0%N) ?size_iota // nth_iota. Qed.

Lemma number_lt R w : (forall r, r \in w -> (r < R)%N) -> (number R w < R ^ size w)%N.
Proof.
elim/last_ind: w => [|w r IH] small; first by rewrite expn0.
have r_R : (r < R)%N by apply: small; rewrite mem_rcons mem_head.
have w_lt : (number R w < R ^ size w)%N by apply: IH => s s_w; apply: small; rewrite mem_rcons inE s_w orbT.
by rewrite number_rcons size_rcons expnS; nia.
Qed.

Lemma letters_number R w : (forall r, r \in w -> (r < R)%N) -> letters R (size w) (number R w) = w.
Proof.
elim/last_ind: w => [//|w r IH] small.
have r_R : (r < R)%N by apply: small; rewrite mem_rcons mem_head.
rewrite size_rcons letters_rcons number_rcons divnMDl ?(leq_ltn_trans _ r_R) // divn_small // addn0 modnMDl modn_small //.
by rewrite IH // => s s_w; apply: small; rewrite mem_rcons inE s_w orbT.
Qed.

Lemma number_letters R k n : (0 < R)%N -> (n < R ^ k)%N -> number R (letters R k n) = n.
Proof.
move=> R0; elim: k n => [|k IH] n; first by rewrite expn0 ltnS leqn0 => /eqP->.
move=> n_lt; rewrite letters_rcons number_rcons IH -?divn_eq //.
by rewrite ltn_divLR // mulnC -expnS.
Qed.

(** A word of relations, as numbers. *)
Section Word.
Variables (N R k : nat) (w : k.-tuple 'I_R).

Definition numbers : seq nat := map val w.

Lemma numbers_small r : r \in numbers -> (r < R)%N.
Proof. by case/mapP=> s _ ->; apply: ltn_ord. Qed.

Lemma size_numbers : size numbers = k.
Proof. by rewrite size_map size_tuple. Qed.

Lemma number_word_lt : (number R numbers < R ^ k)%N.
Proof. by have := number_lt numbers_small; rewrite size_numbers. Qed.

Lemma letters_word : letters R k (number R numbers) = numbers.
Proof. by have := letters_number numbers_small; rewrite size_numbers. Qed.

Lemma letter_word i : (i < k)%N -> letter R k (number R numbers) i = nth 0%N numbers i.
Proof. by move=> i_k; rewrite -nth_letters // letters_word. Qed.

Lemma number_word n : (n < R ^ k)%N -> (forall i, (i < k)%N -> letter R k n i = nth 0%N numbers i) ->
  n = number R numbers.
Proof.
move=> n_lt same; case: (posnP R) => [R0|R0].
  have k0 : k = 0%N by case: (posnP k) n_lt => // k1; rewrite R0 exp0n.
  by rewrite (size0nil (etrans size_numbers k0)); move: n_lt; rewrite k0 expn0 ltnS leqn0 => /eqP.
rewrite -(number_letters R0 n_lt); congr number; apply: (@eq_from_nth _ 0%N); rewrite ?size_letters ?size_numbers //.
by move=> i i_k; rewrite nth_letters // same.
Qed.

Lemma walk_follow (g : fact_system N R) (x : 'I_N) v : walk (table g) (map val (v : seq 'I_R)) x = follow g v x.
Proof. by elim: v x => //= r v IH x; rewrite table_ord IH. Qed.

End Word.

(** ** Relation codes *)

Section Code.
Variables (R first : nat).

Definition columns : nat := minn 2 (first + R - 1).

(** The code of a number z, and how a mismatch with t is read off it. *)
Definition code (z v : nat) : int := if (v < columns)%N then if v is 0 then z%:Z else z%:Z ^+ 2 else 0.
Definition linear (t v : nat) : int :=
  if v is 0 then if columns == 1%N then 1 - 2 * t%:Z else - 2 * t%:Z else 1.
Definition constant (t : nat) : int := if columns == 0%N then 0 else t%:Z ^+ 2.

(** (z - t)² for all numbers that occur: 0 (an empty place, if first = 1) and those of relations. *)
Lemma mismatchE z t : (0 < R)%N -> (first <= 1)%N -> (z < first + R)%N -> (t < first + R)%N ->
  \sum_(v < columns) code z v * linear t v + constant t = (z%:Z - t%:Z) ^+ 2.
Proof.
move=> R0 first1 z_lt t_lt; rewrite /code /linear /constant /columns.
have [small|large] := ltnP (first + R - 1) 2; last first.
  by rewrite !big_ord_recl big_ord0 /= !expr2; lia.
case e: (first + R - 1)%N small => [|[|//]] _; rewrite ?big_ord0 ?big_ord1 /=.
  by have [-> ->] : z = 0%N /\ t = 0%N by lia.
have : (z <= 1)%N by lia.
by case: z {z_lt} => [|[|//]] _; rewrite !expr2; lia.
Qed.
End Code.

(** ** Mismatches of words *)

(** How far the word numbered n is from the word w. *)
Definition mismatch (R k n : nat) (w : seq nat) : int :=
  \sum_(i < k) ((nth 0%N w i)%:Z - (letter R k n i)%:Z) ^+ 2.

Lemma mismatch_ge0 R k n w : 0 <= mismatch R k n w.
Proof. by apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.

Lemma mismatch_asked R k (w : k.-tuple 'I_R) : mismatch R k (number R (numbers w)) (numbers w) = 0.
Proof. by rewrite /mismatch big1 // => i _; rewrite letter_word // subrr expr0n. Qed.

Lemma mismatch_other R k n (w : k.-tuple 'I_R) : (n < R ^ k)%N -> n != number R (numbers w) ->
  1 <= mismatch R k n (numbers w).
Proof.
move=> n_lt differ.
have [/existsP[i differ_i]|] := boolP [exists i : 'I_k, letter R k n i != nth 0%N (numbers w) i]; last first.
  rewrite negb_exists => /forallP same; case/eqP: differ; apply: number_word => // i i_k.
  by have := same (Ordinal i_k); rewrite negbK => /eqP.
rewrite /mismatch (bigD1 i) //=; set rest := \sum_(j < k | _) _.
have rest0 : 0 <= rest by apply: sumr_ge0 => j _; apply: sqr_ge0.
by move: differ_i; move: (letter _ _ _ _) (nth _ _ _) => u v; rewrite expr2; case: (ltngtP u v) => // uv _; nia.
Qed.

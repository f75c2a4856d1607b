(** * T1b. Single hop at any precision: digits. Mirrors [constructions/weights/t1b.py].

    For all N >= 2, R >= 1, b >= 1 and any R maps of N entities (permutations or not): d = width = R·⌈p/b⌉ with subject
    entries in 0..2^b - 1, all N·R queries answered with margin at least 1; nothing but the subject table depends on the
    facts. At b >= p this is d = R. Idea: blocks hold the base-2^b digits of the answers; relation r adds 0 to block r
    and 1 - 2^b to the others, so that the ReLU keeps block r and closes the others.

    Main theorems: [T1b], [T1b_size], [T1b_all_bits], [T1b_entries], [T1b_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

Definition t1b (N R b : nat) (g : nat -> nat -> nat) : weights :=
  let q := code_digits N b in
  let d := (R * q)%N in
  {| dimension := d;
     subject := fun x j => digit b (g (j %/ q)%N x) (j %% q);
     relation := fun r j => if (j %/ q == r)%N then 0 else 1 - (2 ^ b)%N%:Z;
     position := fun _ _ => 0;
     layers := [:: uniform_layer d d identity (fun=> 0) (sum_of_blocks q 1) (fun=> 0)];
     unembed := readout_by_distance b q;
     unbias := bias_by_distance b q;
     attends := Uniform; adds := false; masked := false |}.

(** ** The theorems *)

Section Theorems.
Variables (F : realFieldType) (N R b : nat).

Definition T1b_model (g : fact_system N R) := over F N R N (t1b N R b (table g)).

(** All queries are answered with margin at least 1. *)
Theorem T1b (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= b)%N ->
  answers_all_with_margin (T1b_model g) 1 1 g.
Proof.
move=> N2 R1 b1 x; case/tupleP=> r w; rewrite (tuple0 w) => a differ; have q0 := code_digits_gt0 N2 b1.
rewrite !(@logits_uniform F N R N (t1b N R b (table g)) _ _ _ _ _ x r erefl erefl erefl).
rewrite -[1]/(1%:~R) -rmorphD ler_int.
set L := uniform_layer _ _ _ _ _ _; set mid := two_middle (t1b N R b (table g)) x r.
apply: read_digits => // [|j j_q]; first by rewrite leq_pmull.
have gate i : (i < R * code_digits N b)%N -> hidden (R * code_digits N b) L mid i =
    if (i %/ code_digits N b == r)%N then (digit b (g r x) (i %% code_digits N b))%:Z else 0.
  move=> i_d; rewrite hidden_identity // /mid /two_middle /= !addr0 add0r.
  have := digit_lt b (table g (i %/ code_digits N b) x) (i %% code_digits N b).
  by case: eqP => [->|_] lt; rewrite ?table_ord; lia.
rewrite /two_written add0r (@mlp_open _ _ _ R (code_digits N b) r 1) // => [|i i_d /negbTE other]; last first.
  by rewrite gate // other.
by rewrite j_q gate ?entry_lt // divnMDl // modnMDl divn_small // modn_small // addn0 eqxx /= addr0 mulr1.
Qed.

(** d = R·⌈p/b⌉, and one block, of that width; ⌈p/b⌉ is the least q with p <= q·b. *)
Theorem T1b_size (g : fact_system N R) : (1 <= b)%N ->
  [/\ dimension (t1b N R b (table g)) = (R * code_digits N b)%N,
      widths (T1b_model g) = [:: (R * code_digits N b)%N] &
      forall q, (code_digits N b <= q)%N = (up_log 2 N <= q * b)%N].
Proof.
move=> b1; split=> // q; rewrite /code_digits /code_bits.
have := divn_eq (up_log 2 N + b.-1) b; have := ltn_pmod (up_log 2 N + b.-1) b1; nia.
Qed.

(** With ⌈log2 N⌉ bits or more an entry, R entries are enough. *)
Theorem T1b_all_bits (g : fact_system N R) : (2 <= N)%N -> (up_log 2 N <= b)%N ->
  dimension (t1b N R b (table g)) = R.
Proof.
move=> N2 p_b /=; have := code_bits_gt0 N2; rewrite -/(code_bits N) in p_b *; move=> p0.
rewrite /code_digits (_ : (code_bits N + b.-1) %/ b = 1)%N ?muln1 //.
by rewrite (_ : code_bits N + b.-1 = 1 * b + (code_bits N).-1)%N ?divnMDl ?divn_small //; lia.
Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T1b_entries (g : fact_system N R) x j : exists v : 'I_(2 ^ b), W_E (T1b_model g) (lshift R x) j = (v : nat)%:R.
Proof. by exists (Ordinal (digit_lt b (table g (j %/ code_digits N b) x) (j %% code_digits N b))); rewrite col_mxEu mxE. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T1b_universal : universal T1b_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T1b_model /over /over_with /= col_mxKd. Qed.
End Theorems.

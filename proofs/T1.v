(** * T1. Single hop with signs. Mirrors [constructions/weights/t1.py].

    For all N >= 2, R >= 1 and any R maps of N entities (permutations or not): d = width = R·⌈log2 N⌉, subject entries
    -1 and +1, all N·R queries answered with margin at least 2, with or without a residual stream; nothing but the
    subject table depends on the facts. Idea: the row of x is one block of signs c(g_r(x)) for each relation; relation r
    adds +1 to block r and -1 to the others, so that the ReLU keeps c + 1 on block r and 0 elsewhere.

    Main theorems: [T1], [T1_size], [T1_entries], [T1_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

Section Weights.
Variables (N R : nat) (res : bool) (g : nat -> nat -> nat).

Definition t1 : weights :=
  let p := code_bits N in
  let d := (R * p)%N in
  {| dimension := d;
     subject := fun x j => sign (g (j %/ p)%N x) (j %% p);
     relation := fun r j => if (j %/ p == r)%N then 1 else -1;
     position := fun _ _ => 0;
     layers := [:: uniform_layer d d identity (fun=> 0) (sum_of_blocks p (if res then 4 else 1))
                     (fun j => if (j < p)%N then if res then -8 else -1 else 0)];
     unembed := readout_by_signs p;
     unbias := fun=> 0;
     attends := Uniform; adds := res; masked := false |}.
End Weights.

(** ** The theorems *)

Section Theorems.
Variables (F : realFieldType) (N R : nat) (res : bool).

Definition T1_model (g : fact_system N R) := over F N R N (t1 N R res (table g)).

(** All queries are answered with margin at least 2. *)
Theorem T1 (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> answers_all_with_margin (T1_model g) 1 2 g.
Proof.
move=> N2 R1 x; case/tupleP=> r w; rewrite (tuple0 w) => a differ.
have p0 := code_bits_gt0 N2.
rewrite !(@logits_uniform F N R N (t1 N R res (table g)) _ _ _ _ _ x r erefl erefl erefl).
rewrite -[2]/(2%:~R) -rmorphD ler_int !addr0.
set L := uniform_layer _ _ _ _ _ _; set mid := two_middle (t1 N R res (table g)) x r.
apply: read_signs => // [|j j_p]; first by rewrite leq_pmull.
have gate i : (i < R * code_bits N)%N -> hidden (R * code_bits N) L mid i =
    if (i %/ code_bits N == r)%N then sign (g r x) (i %% code_bits N) + (if res then 2 else 1) else 0.
  move=> i_d; rewrite hidden_identity // /mid /two_middle /= !addr0.
  by case: eqP => [->|_]; rewrite ?table_ord /sign; case: bit; case: (res).
have written : mlp (R * code_bits N) L mid j = (if res then 4 else 1) * sign (g r x) j.
  rewrite (@mlp_open _ _ _ R (code_bits N) r (if res then 4 else 1)) // => [|i i_d /negbTE other]; last first.
    by rewrite gate // other.
  rewrite gate ?entry_lt //= j_p divnMDl // modnMDl divn_small // modn_small // addn0 eqxx /sign.
  by case: bit; case: (res).
rewrite /two_written -/mid [mlp _ _ _ _]written /mid /two_middle /= !addr0.
by rewrite /sign; case: (bit (g r x) j); case: (res) => //; case: bit; case: eqP.
Qed.

(** d = R·⌈log2 N⌉, and one block, of that width. *)
Theorem T1_size (g : fact_system N R) :
  dimension (t1 N R res (table g)) = (R * up_log 2 N)%N /\ widths (T1_model g) = [:: (R * up_log 2 N)%N].
Proof. by []. Qed.

(** Subject entries are -1 and +1. *)
Theorem T1_entries (g : fact_system N R) x j :
  W_E (T1_model g) (lshift R x) j = 1 \/ W_E (T1_model g) (lshift R x) j = -1.
Proof. by rewrite col_mxEu mxE /= /sign; case: bit; [left | right]. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T1_universal : universal T1_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T1_model /over /over_with /= col_mxKd. Qed.
End Theorems.

(** * T6. Disjoint attributes need no selector. Mirrors [constructions/weights/t6.py].

    Relation r answers with attributes of its own, R·N answers in all; answer number r·N + a is attribute a of relation
    r. For all N >= 2, R >= 1 and any R maps of N entities (permutations or not): no MLP, d = R·⌈log2 N⌉ + [R > 1], all
    N·R queries answered with margin at least 2; nothing but the subject table depends on the facts. Idea: the last
    coordinate holds 2r, so that the logit of attribute a of relation r' is <c(a), c(g_r'(x))> + 4r² - 4(r - r')².

    Main theorems: [T6], [T6_size], [T6_entries], [T6_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

Definition t6 (N R : nat) (g : nat -> nat -> nat) : weights :=
  let p := code_bits N in
  let e := (R * p)%N in
  {| dimension := (e + (1 < R))%N;
     subject := fun x j => if (j < e)%N then sign (g (j %/ p)%N x) (j %% p) else 0;
     relation := fun r j => if (j < e)%N then 0 else r%:Z;
     position := fun _ _ => 0;
     layers := [:: uniform_layer (e + (1 < R)) 0 (fun _ _ => 0) (fun=> 0) (fun _ _ => 0) (fun=> 0)];
     unembed := fun j a => if (j < e)%N then if (j %/ p == a %/ N)%N then sign (a %% N) (j %% p) else 0
                           else 4 * (a %/ N)%N%:Z;
     unbias := fun a => - 4 * (a %/ N)%N%:Z ^+ 2;
     attends := Uniform; adds := true; masked := false |}.

(** Attribute a of relation r. *)
Lemma attribute_lt (N R : nat) (r : 'I_R) (a : 'I_N) : (r * N + a < R * N)%N.
Proof. exact: entry_lt. Qed.
Definition attribute (N R : nat) (r : 'I_R) (a : 'I_N) : 'I_(R * N) := Ordinal (attribute_lt r a).

(** A sum over the entries of one block. *)
Lemma sum_one_block (R p r : nat) (f : nat -> int) : (r < R)%N ->
  \sum_(j < R * p) (if (j %/ p == r)%N then f j else 0) = \sum_(i < p) f (r * p + i)%N.
Proof.
elim: R => // R IH; rewrite ltnS leq_eqVlt mulSnr big_split_ord /= => /orP r_R.
have last (i : 'I_p) : ((R * p + i) %/ p = R)%N.
  by rewrite divnMDl ?divn_small ?addn0 // (leq_ltn_trans _ (ltn_ord i)).
case: r_R => [/eqP->|r_R].
  rewrite big1 ?add0r => [|j _]; first by apply: eq_bigr => i _; rewrite last eqxx.
  have p0 : (0 < p)%N by have := leq_ltn_trans (leq0n j) (ltn_ord j); rewrite muln_gt0 => /andP[].
  by rewrite ltn_eqF // ltn_divLR.
by rewrite IH // [X in _ + X]big1 ?addr0 // => i _; rewrite last (gtn_eqF r_R).
Qed.

Section Theorems.
Variables (F : realFieldType) (N R : nat).

Definition T6_model (g : fact_system N R) := over F N R (R * N) (t6 N R (table g)).

(** The logit of attribute a' of relation r'. *)
Lemma logit_t6 (g : fact_system N R) (x : 'I_N) (r : 'I_R) (b : 'I_(R * N)) (r' : 'I_R) (a : 'I_N) :
    (b = r' * N + a :> nat)%N ->
  logits (T6_model g) (prompt x [tuple r]) 0 b =
    (\sum_(i < code_bits N) sign (g r' x) i * sign a i + 8 * r%:Z * r'%:Z - 4 * r'%:Z ^+ 2)%:~R.
Proof.
move=> b_eq; rewrite (@logits_uniform F N R _ (t6 N R (table g)) _ _ _ _ _ x r erefl erefl erefl) /=.
have N0 : (0 < N)%N by case: (N) x => // [[]].
have b_div : (b %/ N = r')%N by rewrite b_eq divnMDl // divn_small ?addn0.
have b_mod : (b %% N = a)%N by rewrite b_eq modnMDl modn_small.
set p := code_bits N; set e := (R * p)%N; rewrite b_div b_mod; congr (_%:~R).
rewrite big_split_ord /=.
rewrite (eq_bigr (fun j : 'I_e => if (j %/ p == r')%N then sign (g r' x) (j %% p) * sign a (j %% p) else 0)); last first.
  move=> j _; rewrite /two_written /two_middle /mlp /= big_ord0 ltn_ord !addr0 !add0r.
  by case: eqP => [->|_]; rewrite ?mulr0 ?table_ord.
rewrite (@sum_one_block R p r' (fun j => sign (g r' x) (j %% p) * sign a (j %% p))) //.
rewrite (eq_bigr (fun i : 'I_p => sign (g r' x) i * sign a i)) => [|i _]; last first.
  by rewrite modnMDl modn_small.
rewrite -!addrA; congr (_ + _).
rewrite (eq_bigr (fun=> 8 * r%:Z * r'%:Z)) => [|j _]; last first.
  rewrite /two_written /two_middle /mlp /= big_ord0 -/p -/e ltnNge leq_addr /= !addr0 !add0r; lia.
rewrite sumr_const card_ord; case: (ltnP 1 R) => R2 /=; first by rewrite mulr1n expr2; lia.
have [-> ->] : r = 0%N :> nat /\ r' = 0%N :> nat by have := ltn_ord r; have := ltn_ord r'; lia.
by rewrite mulr0n expr2; lia.
Qed.

(** Every query (x, r) is answered by attribute g_r(x) of relation r, with margin at least 2. *)
Theorem T6 (g : fact_system N R) (x : 'I_N) (r : 'I_R) : (2 <= N)%N ->
  predicts_with_margin (T6_model g) 2 (prompt x [tuple r]) (attribute r (g r x)).
Proof.
move=> N2 b differ; have N0 := ltnW N2.
have r'_lt : (b %/ N < R)%N by rewrite ltn_divLR.
pose r' := Ordinal r'_lt; pose a := Ordinal (ltn_pmod b N0).
rewrite (@logit_t6 g x r b r' a (divn_eq b N)) (@logit_t6 g x r (attribute r (g r x)) r (g r x) erefl).
rewrite -[2]/(2%:~R) -rmorphD ler_int.
have upper : \sum_(i < code_bits N) sign (g r' x) i * sign a i <= (code_bits N)%:Z.
  rewrite -[X in _ <= X%:Z]card_ord -natz -sumr_const; apply: ler_sum => i _.
  by rewrite /sign; case: bit; case: bit.
have full : \sum_(i < code_bits N) sign (g r x) i * sign (g r x) i = (code_bits N)%:Z.
  by rewrite (eq_bigr (fun=> 1)) => [|i _]; rewrite ?sign_sq // sumr_const card_ord natz.
have [same_r|other_r] := eqVneq r' r; last first.
  have := (other_r : r' != r :> nat); rewrite full !expr2; move: upper; set u := \sum_(i < code_bits N) sign (g r' x) i * sign a i; clearbody u.
  move: (code_bits N) => q.
  move: (nat_of_ord r') (nat_of_ord r) => s t u_q st.
  have apart : 1 <= (t%:Z - s%:Z) * (t%:Z - s%:Z) by case: (ltngtP s t) st => // st _; nia.
  by move: (Posz s) (Posz t) apart {st} => {}s {}t apart; lia.
have other_a : a != g r x.
  apply: contraNneq differ => same_a; apply/eqP/val_inj.
  by rewrite /= (divn_eq b N) -[(b %/ N)%N]/(nat_of_ord r') same_r -[(b %% N)%N]/(nat_of_ord a) same_a.
have agree : \sum_(i < code_bits N) sign (g r x) i * sign a i + 2 <= \sum_(i < code_bits N) sign (g r x) i * sign (g r x) i.
  have cut c : \sum_(i < code_bits N) sign (g r x) i * readout_by_signs (code_bits N) i c =
      \sum_(i < code_bits N) sign (g r x) i * sign c i.
    by apply: eq_bigr => i _; rewrite /readout_by_signs ltn_ord.
  by rewrite -!cut; apply: read_signs => // i _; rewrite sign_sq.
rewrite same_r !expr2; move: agree; set u := \sum_(i < code_bits N) sign (g r x) i * sign a i.
set v := \sum_(i < code_bits N) sign (g r x) i * sign (g r x) i; clearbody u v; lia.
Qed.

(** d = R·⌈log2 N⌉ + [R > 1], and no hidden unit. *)
Theorem T6_size (g : fact_system N R) :
  dimension (t6 N R (table g)) = (R * up_log 2 N + (1 < R))%N /\ widths (T6_model g) = [:: 0%N].
Proof. by []. Qed.

(** Subject entries are -1, 0 and +1; 0 in the last coordinate alone. *)
Theorem T6_entries (g : fact_system N R) x (j : 'I_(R * code_bits N)) :
  let entry := W_E (T6_model g) (lshift R x) (lshift (1 < R) j) in entry = 1 \/ entry = -1.
Proof. by rewrite /= col_mxEu mxE /= ltn_ord /sign; case: bit; [left | right]. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T6_universal : universal T6_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T6_model /over /over_with /= col_mxKd. Qed.
End Theorems.

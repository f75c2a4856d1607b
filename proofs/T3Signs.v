(** * T3. Chain of thought, one-bit position codes, hardmax. Mirrors [constructions.weights.t3.construct_with_signs].

    As [T3Parabola], with d = R·⌈p/b⌉ + 2·⌈log2 2k⌉ and position codes of signs: W_pos[t] holds the code of t and that
    of the position to read. Idea: scores are inner products of codes, gaps at least 2; the last sign says t >= k, and
    the codes of positions k and 0 differ in it alone.

    Main theorems: [T3_signs], [T3_signs_size], [T3_signs_entries], [T3_signs_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading Chain T3.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Position codes *)

(** a = ⌈log2 2k⌉, and the number whose signs are the code of position t. *)
Definition position_bits (k : nat) : nat := code_bits (2 * k).
Definition position_number (k t : nat) : nat := (t %% k + 2 ^ (position_bits k).-1 * (t %/ k))%N.
Definition position_sign (k t c : nat) : int := sign (position_number k t) c.

Definition agreement (a m n : nat) : int := \sum_(c < a) sign m c * sign n c.

Lemma agreement_same a n : agreement a n n = a%:Z.
Proof. by rewrite /agreement (eq_bigr (fun=> 1)) => [|c _]; rewrite ?sign_sq // sumr_const card_ord natz. Qed.

Lemma agreement_le a m n : agreement a m n <= a%:Z.
Proof.
rewrite -[X in _ <= X%:Z]card_ord -natz -sumr_const; apply: ler_sum => c _.
by rewrite /sign; case: bit; case: bit.
Qed.

Lemma agreement_other a m n : (m < 2 ^ a)%N -> (n < 2 ^ a)%N -> m != n -> agreement a m n <= a%:Z - 2.
Proof.
move=> m_a n_a differ.
have [/existsP[i differ_i]|] := boolP [exists i : 'I_a, bit m i != bit n i]; last first.
  rewrite negb_exists => /forallP same; case/eqP: differ; apply: (bit_inj m_a n_a) => i i_a.
  by have := same (Ordinal i_a); rewrite negbK => /eqP.
rewrite /agreement (bigD1 i) //= -[X in _ <= X%:Z - _]card_ord -natz -sumr_const [X in _ <= X - _](bigD1 i) //=.
have rest : \sum_(c < a | c != i) sign m c * sign n c <= \sum_(c < a | c != i) 1.
  by apply: ler_sum => c _; rewrite /sign; case: bit; case: bit.
move: differ_i rest; rewrite /sign; case: bit; case: bit => // _;
  move: (\sum_(c < a | _) _) (\sum_(c < a | _) _) => u v; lia.
Qed.

Section Numbers.
Variable k : nat.
Hypothesis k1 : (0 < k)%N.
Let a := position_bits k.
Let H := (2 ^ a.-1)%N.

Let a0 : (0 < a)%N.
Proof. by apply: code_bits_gt0; lia. Qed.

Lemma half_a : (2 ^ a = 2 * H)%N.
Proof. by rewrite /H -expnS prednK. Qed.

Lemma k_H : (k <= H)%N.
Proof.
have : (2 * k <= 2 ^ a)%N by apply: (up_logP (2 * k)).
by rewrite half_a leq_pmul2l.
Qed.

Lemma early t : (t < k)%N -> position_number k t = t.
Proof. by move=> t_k; rewrite /position_number modn_small // divn_small // muln0 addn0. Qed.

Lemma late t : (k <= t < 2 * k)%N -> position_number k t = (t - k + H)%N.
Proof.
move=> t_k; rewrite /position_number -/a -/H (_ : t = t - k + k)%N; last by lia.
by rewrite modnDr divnDr // divnn k1 modn_small ?divn_small ?addnK; lia.
Qed.

Lemma position_small t : (t < 2 * k)%N -> (position_number k t < 2 ^ a)%N.
Proof.
move=> t_2k; rewrite half_a; have := k_H; case: (ltnP t k) => t_k; first by rewrite early //; lia.
by rewrite late ?t_k //; lia.
Qed.

Lemma position_inj s t : (s < 2 * k)%N -> (t < 2 * k)%N -> position_number k s = position_number k t -> s = t.
Proof.
move=> s_2k t_2k; have := k_H; case: (ltnP s k) => s_k; case: (ltnP t k) => t_k.
- by rewrite !early.
- by rewrite early ?late ?t_k //; lia.
- by rewrite (late (t := s)) ?s_k // early //; lia.
- by rewrite !late ?s_k ?t_k //; lia.
Qed.

Lemma agreement_positions s t : (s < 2 * k)%N -> (t < 2 * k)%N -> s != t ->
  agreement a (position_number k s) (position_number k t) <= a%:Z - 2.
Proof.
move=> s_2k t_2k differ; apply: agreement_other; rewrite ?position_small //.
by apply: contra differ => /eqP/(position_inj s_2k t_2k) ->.
Qed.

(** The last sign says that a position is behind the prompt. *)
Lemma last_sign t : (k <= t < 2 * k)%N -> position_sign k t a.-1 = 1.
Proof.
move=> t_k; have := k_H; rewrite /position_sign late // /sign /bit -/H => k_le.
by rewrite divnDr // divnn expn_gt0 divn_small //; lia.
Qed.

(** Positions k and 0 differ in the last sign alone. *)
Lemma agreement_first : agreement a (position_number k k) (position_number k 0) = a%:Z - 2.
Proof.
rewrite (early k1) late ?leqnn ?ltn_Pmull // subnn add0n /agreement.
have bit_H c : (c < a)%N -> bit H c = (c == a.-1).
  move=> c_a; rewrite /bit /H; case: (ltngtP c a.-1) => [c_lt|c_gt|->]; last by rewrite divnn expn_gt0.
    by rewrite -(subnK (ltnW c_lt)) expnD mulnK ?expn_gt0 // -[(a.-1 - c)%N]prednK ?subn_gt0 // expnS oddM.
  by move: c_gt; lia.
rewrite -(prednK a0) big_ord_recr /=.
rewrite (eq_bigr (fun=> 1)) => [|c _]; last first.
  rewrite /sign bit_H ?ltn_eqF //; last by rewrite (leq_trans (ltn_ord c)) ?leq_pred.
  by rewrite /bit div0n.
rewrite sumr_const card_ord natz /sign bit_H ?ltn_predL // eqxx /bit div0n /= mul1r; move: a.-1 => c; lia.
Qed.
End Numbers.

(** ** The weights; [g r x] is the answer to (x, r) *)

Section Weights.
Variables (N R k b : nat) (g : nat -> nat -> nat).
Let q := code_digits N b.
Let e := (R * q)%N.
Let a := position_bits k.
(** The largest sum of an entity's digits. *)
Let most := (e * (2 ^ b).-1)%N.

Definition signs_scale : nat := (most.+1 %/ 2).+1.
Definition signs_offset : nat := offset R q b (2 * signs_scale * a + 2).
Definition signs_place (t j : nat) : int :=
  if (j < a)%N then position_sign k t j else position_sign k (t.+1 - k) (j - a).
Definition signs_query (h i c : nat) : int :=
  if h is 0 then if (c < a)%N && (i == e + a + c)%N then 1 else 0
  else if (c < a)%N then if (i == e + c)%N then signs_scale%:Z else 0
  else if (i == e + a.-1)%N then 1 else 0.
Definition signs_key (h i c : nat) : int :=
  if (c < a)%N then if (i == e + c)%N then 1 else 0
  else if h is 0 then 0 else if (i < e)%N then 1 else 0.

Definition t3_signs : weights :=
  t3 N R b g (2 * a) a.+1 signs_offset signs_place signs_query signs_key.
End Weights.

Section Theorems.
Variables (F : realFieldType) (N R k b : nat).

Definition T3_signs_model (g : fact_system N R) := over F N R N (t3_signs N R k b (table g)).

(** Both heads read what they are meant to, by a gap of 2. *)
Lemma signs_reads (g : fact_system N R) (x : 'I_N) (w : k.-tuple 'I_R) i n (tokens : n.+1.-tuple 'I_(N + R)) :
    (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N -> (i < k)%N -> tval tokens = begun g x w (iota 1 i) ->
  let W := t3_signs N R k b (table g) in
  let L := t3_layer N R b (position_bits k).+1 (signs_offset N R k b) (signs_query N R k b) (signs_key N R k b) in
  attends_by W L (stream_at W tokens) n 0 i.+1 2 /\ attends_by W L (stream_at W tokens) n 1 (current_at k i) 2.
Proof.
move=> N2 R1 k1 b1 i_k is_begun W L; pose st := stream_at W tokens.
have n_i := n_step is_begun; have q0 := code_digits_gt0 N2 b1.
set q := code_digits N b in q0; pose e := (R * q)%N; pose most := (e * (2 ^ b).-1)%N; pose a := position_bits k.
have a0 : (0 < a)%N by apply: code_bits_gt0; lia.
have place t j : st t (e + j)%N = signs_place k t j.
  exact: (@st_place N R b g (2 * a) a.+1 _ (signs_place k) _ _ n tokens t j).
have here t c : (c < a)%N -> st t (e + c)%N = position_sign k t c by move=> c_a; rewrite place /signs_place -/a c_a.
have there t c : (c < a)%N -> st t (e + a + c)%N = position_sign k (t.+1 - k) c.
  by move=> c_a; rewrite -addnA place /signs_place -/a ltnNge leq_addr /= addKn.
have scoreE u v h : score W L u v h =
    \sum_(c < a) (\sum_(j < e + 2 * a) u j * fQ L h j c) * (\sum_(j < e + 2 * a) v j * fK L h j c) +
    (\sum_(j < e + 2 * a) u j * fQ L h j a) * (\sum_(j < e + 2 * a) v j * fK L h j a).
  by rewrite /score big_ord_recr.
have key h t (c : 'I_a) : \sum_(j < e + 2 * a) st t j * fK L h j c = position_sign k t c.
  rewrite (eq_bigr (fun j : 'I_(e + 2 * a) => st t j * (if (j == e + c :> nat)%N then 1 else 0))) => [|j _].
    by rewrite sum_delta ?mulr1 ?here //; have := ltn_ord c; lia.
  by rewrite /= /signs_key -/a ltn_ord.
have score0 s : score W L (st n) (st s) 0 = agreement a (position_number k i.+1) (position_number k s).
  rewrite scoreE [X in _ + X](_ : _ = 0) ?addr0; last first.
    by rewrite big1 ?mul0r // => j _; rewrite /= /signs_query -/a ltnn mulr0.
  apply: eq_bigr => c _; rewrite key; congr (_ * _).
  rewrite (eq_bigr (fun j : 'I_(e + 2 * a) => st n j * (if (j == e + a + c :> nat)%N then 1 else 0))) => [|j _].
    rewrite sum_delta ?mulr1 ?there //; last by have := ltn_ord c; lia.
    by rewrite /position_sign (_ : n.+1 - k = i.+1)%N // n_i; lia.
  by rewrite /= /signs_query -/a ltn_ord.
have n_late : (k <= n < 2 * k)%N by rewrite n_i; lia.
have score1 s : score W L (st n) (st s) 1 = (signs_scale N R b)%:Z * agreement a (position_number k n)
    (position_number k s) + \sum_(j < e) st s j.
  rewrite scoreE; congr (_ + _).
    rewrite mulr_sumr; apply: eq_bigr => c _; rewrite key mulrA; congr (_ * _).
    rewrite (eq_bigr (fun j : 'I_(e + 2 * a) => st n j * (if (j == e + c :> nat)%N then (signs_scale N R b)%:Z else 0)))
      => [|j _].
      by rewrite sum_delta ?here 1?mulrC //; have := ltn_ord c; lia.
    by rewrite /= /signs_query -/a ltn_ord.
  rewrite (eq_bigr (fun j : 'I_(e + 2 * a) => st n j * (if (j == e + a.-1 :> nat)%N then 1 else 0))) => [|j _]; last first.
    by rewrite /= /signs_query -/a ltnn.
  rewrite sum_delta ?here ?last_sign ?mulr1 ?mul1r //; try by move: a0; lia.
  rewrite big_split_ord /= [X in _ + X]big1 ?addr0 => [|j _]; last first.
    by rewrite /signs_key -/a ltnn ltnNge leq_addr mulr0.
  by apply: eq_bigr => j _; rewrite /signs_key -/a ltnn ltn_ord mulr1.
have current_low : 0 <= \sum_(j < e) st (current_at k i) j.
  exact: (sum_current _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun).
have any_low t : (t <= n)%N -> \sum_(j < e) st t j <= most%:Z.
  exact: (sum_any _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun).
have relation_low t : (t < k)%N -> \sum_(j < e) st t.+1 j <= - (2 * signs_scale N R b * a + 2)%N%:Z.
  move=> t_k; rewrite (sum_relation _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun t_k) ler_opp2 lez_nat.
  exact: offset_enough.
have scale_most : (most.+1 < 2 * signs_scale N R b)%N.
  by rewrite /signs_scale -/q -/e -/most; have := divn_eq most.+1 2; have := ltn_pmod most.+1 (isT : 0 < 2)%N; lia.
split=> s s_n differ; rewrite -/st.
  rewrite !score0 agreement_same; have : (s < 2 * k)%N by lia.
  have i_2k : (i.+1 < 2 * k)%N by lia.
  move=> s_2k; have := @agreement_positions k k1 i.+1 s i_2k s_2k; rewrite eq_sym in differ; move/(_ differ); rewrite -/a.
  by move: (agreement _ _ _) => u; lia.
rewrite !score1; have := any_low s s_n; have s_2k : (s < 2 * k)%N by lia.
move: current_low differ; rewrite /current_at; case e_i : i => [|i'] low differ.
  have n_k : n = k by rewrite n_i e_i addn0.
  rewrite n_k agreement_first //; case: s s_n s_2k differ => [//|s] s_n s_2k _ _.
  have := relation_low s; rewrite n_k in s_n; move/(_ s_n).
  have := agreement_le a (position_number k k) (position_number k s.+1).
  move: low; move: (\sum_(j < e) _) (\sum_(j < e) _) (agreement _ _ _) => u v z; nia.
have := @agreement_positions k k1 n s; rewrite -e_i -n_i in low differ *; rewrite eq_sym in differ.
have n_2k : (n < 2 * k)%N by case/andP: n_late.
move/(_ n_2k s_2k differ); rewrite agreement_same.
by move: low; move: (\sum_(j < e) _) (\sum_(j < e) _) (agreement _ _ _) => u v z; nia.
Qed.

(** Every chain of thought for k hops is right at every step, with margin at least 1. *)
Theorem T3_signs (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N ->
  answers_chain_with_margin (T3_signs_model g) k (iota 1 k) 1 g.
Proof.
move=> N2 R1 k1 b1 x w; apply: emits_steps => done l rest n tokens lengths is_begun.
have [done_i -> i_k] := each_step lengths; rewrite done_i in is_begun.
have [reads0 reads1] := signs_reads N2 R1 k1 b1 i_k is_begun.
by apply: (t3_step F N2 R1 k1 b1 i_k is_begun) => s s_n differ;
   [have := reads0 s s_n differ | have := reads1 s s_n differ]; apply: lt_le_trans; rewrite ltr_addl.
Qed.

(** d = R·⌈p/b⌉ + 2·⌈log2 2k⌉, and one block, of width R·⌈p/b⌉. *)
Theorem T3_signs_size (g : fact_system N R) :
  dimension (t3_signs N R k b (table g)) = (R * code_digits N b + 2 * up_log 2 (2 * k))%N /\
  widths (T3_signs_model g) = [:: (R * code_digits N b)%N].
Proof. by []. Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T3_signs_entries (g : fact_system N R) x j :
  exists v : 'I_(2 ^ b), W_E (T3_signs_model g) (lshift R x) j = (v : nat)%:R.
Proof.
rewrite col_mxEu mxE /=; case: ifP => _; last by exists (Ordinal (expn_gt0 2 b : 0 < 2 ^ b)%N).
by exists (Ordinal (digit_lt b (table g (j %/ code_digits N b) x) (j %% code_digits N b))).
Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T3_signs_universal : universal T3_signs_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T3_signs_model /over /over_with /= col_mxKd. Qed.
End Theorems.

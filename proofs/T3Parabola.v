(** * T3. Chain of thought, positions (t, t²), hardmax. Mirrors [constructions.weights.t3.construct].

    For all N >= 2, R >= 1, k >= 1, b >= 1 and any R maps of N entities (permutations or not): d = R·⌈p/b⌉ + 2, width
    R·⌈p/b⌉, subject entries in 0..2^b - 1, all N·R^k chains of thought right at every step with margin at least 1;
    nothing but the subject table depends on the facts. Idea: the relation head scores τ·(2st - t²), largest at t = s =
    τ-k+1; the entity head scores τ·((S+1)·t + sum of the block coordinates), largest at the last entity, because
    relation tokens have so low a sum.

    Main theorems: [T3_parabola], [T3_parabola_size], [T3_parabola_entries], [T3_parabola_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading Chain T3.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Weights.
Variables (N R k b : nat) (g : nat -> nat -> nat).
Let q := code_digits N b.
Let e := (R * q)%N.
(** The largest sum of an entity's digits. *)
Let most := (e * (2 ^ b).-1)%N.

Definition parabola_offset : nat := offset R q b (most.+1 * k + 1).
Definition parabola_place (t j : nat) : int := if j is 0 then t%:Z else (t ^ 2)%N%:Z.
Definition parabola_query (h i c : nat) : int :=
  match h, c with
  | 0, 0 => if (i == e)%N then - (2 * (k - 1))%N%:Z else if (i == e.+1)%N then 2 else 0
  | 0, _ => if (i == e)%N then -1 else 0
  | _, 0 => if (i == e)%N then 1 else 0
  | _, _ => 0
  end.
Definition parabola_key (h i c : nat) : int :=
  match h, c with
  | 0, 0 => if (i == e)%N then 1 else 0
  | 0, _ => if (i == e.+1)%N then 1 else 0
  | _, 0 => if (i < e)%N then 1 else if (i == e)%N then most.+1%:Z else 0
  | _, _ => 0
  end.

Definition t3_parabola : weights :=
  t3 N R b g 2 2 parabola_offset parabola_place parabola_query parabola_key.
End Weights.

Section Theorems.
Variables (F : realFieldType) (N R k b : nat).

Definition T3_parabola_model (g : fact_system N R) := over F N R N (t3_parabola N R k b (table g)).

(** Both heads read what they are meant to, by a gap of the last position, τ. *)
Lemma parabola_reads (g : fact_system N R) (x : 'I_N) (w : k.-tuple 'I_R) i n (tokens : n.+1.-tuple 'I_(N + R)) :
    (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N -> (i < k)%N -> tval tokens = begun g x w (iota 1 i) ->
  let W := t3_parabola N R k b (table g) in
  let L := t3_layer N R b 2 (parabola_offset N R k b) (parabola_query N R k b) (parabola_key N R b) in
  attends_by W L (stream_at W tokens) n 0 i.+1 n /\ attends_by W L (stream_at W tokens) n 1 (current_at k i) n.
Proof.
move=> N2 R1 k1 b1 i_k is_begun W L; pose st := stream_at W tokens.
have n_i := n_step is_begun; have q0 := code_digits_gt0 N2 b1.
set q := code_digits N b in q0; pose e := (R * q)%N; pose most := (e * (2 ^ b).-1)%N.
have place t j : st t (e + j)%N = parabola_place t j.
  exact: (@st_place N R b g 2 2 _ parabola_place _ _ n tokens t j).
have st_e t : st t e = t%:Z by rewrite -[e]addn0 place.
have st_e1 t : st t e.+1 = (t ^ 2)%N%:Z by rewrite -addn1 place.
have scoreE u v h : score W L u v h = (\sum_(j < e + 2) u j * fQ L h j 0) * (\sum_(j < e + 2) v j * fK L h j 0) +
    (\sum_(j < e + 2) u j * fQ L h j 1) * (\sum_(j < e + 2) v j * fK L h j 1).
  by rewrite /score !big_ord_recl big_ord0 addr0.
have last_two (f h : nat -> int) : (forall j, (j < e)%N -> h j = 0) ->
    \sum_(j < e + 2) f j * h j = f e * h e + f e.+1 * h e.+1.
  move=> h0; rewrite addn2 !big_ord_recr /= big1 ?add0r // => j _.
  by rewrite (h0 j (ltn_ord j)) mulr0.
have ne : (e.+1 == e)%N = false := gtn_eqF (ltnSn e).
have score0 s : score W L (st n) (st s) 0 = n%:Z * ((2 * i.+1 * s)%N%:Z - (s ^ 2)%N%:Z).
  rewrite scoreE (last_two (st n) (fQ L 0 ^~ 0%N)) ?(last_two (st n) (fQ L 0 ^~ 1%N)) ?(last_two (st s) (fK L 0 ^~ 0%N))
    ?(last_two (st s) (fK L 0 ^~ 1%N)) /= -/q -/e; try by move=> j j_e; rewrite ?(ltn_eqF j_e) ?(ltn_eqF (ltnW j_e : (j < e.+1)%N)).
  by rewrite !st_e !st_e1 !eqxx ne (ltn_eqF (ltnSn e)) n_i; nia.
have score1 s : score W L (st n) (st s) 1 = n%:Z * (\sum_(j < e) st s j + (most.+1 * s)%N%:Z).
  rewrite scoreE (last_two (st n) (fQ L 1 ^~ 0%N)) ?(last_two (st n) (fQ L 1 ^~ 1%N)) /= -/q -/e;
    try by move=> j j_e; rewrite ?(ltn_eqF j_e).
  rewrite addn2 !big_ord_recr /= !st_e !eqxx ne ltnn ltnNge leqnSn /= -/q -/e -/most.
  rewrite (eq_bigr (fun j : 'I_e => st s j)) => [|j _]; last by rewrite ltn_ord mulr1.
  by move: (\sum_(j < e) _) => s1; lia.
have n0 : 0 < n%:Z by rewrite ltz_nat n_i; lia.
have current_low : 0 <= \sum_(j < e) st (current_at k i) j.
  exact: (sum_current _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun).
have any_low t : (t <= n)%N -> \sum_(j < e) st t j <= most%:Z.
  exact: (sum_any _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun).
have relation_low t : (t < k)%N -> \sum_(j < e) st t.+1 j <= - (most.+1 * k + 1)%N%:Z.
  move=> t_k; rewrite (sum_relation _ _ _ _ _ _ N2 R1 k1 b1 i_k is_begun t_k) ler_opp2 lez_nat.
  exact: offset_enough.
have by_n u v : u + 1 <= v -> n%:Z * u + n%:Z <= n%:Z * v by move=> uv; rewrite -[X in _ + X]mulr1 -mulrDr ler_pmul2l.
split=> s s_n differ; rewrite -/st; first by rewrite !score0; apply: by_n; nia.
rewrite !score1; apply: by_n; have := any_low s s_n; rewrite n_i in s_n.
move: current_low differ; rewrite /current_at; case e_i : i s_n => [|i'] s_n low differ.
  case: s s_n differ => [//|s] s_n _ _; have := relation_low s; rewrite addn0 in s_n; move/(_ s_n).
  by move: low; move: (\sum_(j < e) _) (\sum_(j < e) _) => u v; nia.
by move: low; move: (\sum_(j < e) _) (\sum_(j < e) _) => u v; nia.
Qed.

(** Every chain of thought for k hops is right at every step, with margin at least 1. *)
Theorem T3_parabola (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N ->
  answers_chain_with_margin (T3_parabola_model g) k (iota 1 k) 1 g.
Proof.
move=> N2 R1 k1 b1 x w; apply: emits_steps => done l rest n tokens lengths is_begun.
have [done_i -> i_k] := each_step lengths; rewrite done_i in is_begun.
have [reads0 reads1] := parabola_reads N2 R1 k1 b1 i_k is_begun.
have n0 : 0 < n%:Z by rewrite ltz_nat (n_step is_begun); lia.
by apply: (t3_step F N2 R1 k1 b1 i_k is_begun) => s s_n differ;
   [have := reads0 s s_n differ | have := reads1 s s_n differ]; apply: lt_le_trans; rewrite ltr_addl.
Qed.

(** d = R·⌈p/b⌉ + 2, and one block, of width R·⌈p/b⌉. *)
Theorem T3_parabola_size (g : fact_system N R) :
  dimension (t3_parabola N R k b (table g)) = (R * code_digits N b + 2)%N /\
  widths (T3_parabola_model g) = [:: (R * code_digits N b)%N].
Proof. by []. Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T3_parabola_entries (g : fact_system N R) x j :
  exists v : 'I_(2 ^ b), W_E (T3_parabola_model g) (lshift R x) j = (v : nat)%:R.
Proof.
rewrite col_mxEu mxE /=; case: ifP => _; last by exists (Ordinal (expn_gt0 2 b : 0 < 2 ^ b)%N).
by exists (Ordinal (digit_lt b (table g (j %/ code_digits N b) x) (j %% code_digits N b))).
Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T3_parabola_universal : universal T3_parabola_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T3_parabola_model /over /over_with /= col_mxKd. Qed.
End Theorems.

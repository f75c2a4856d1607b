(** * T3. Chain of thought: one step, whatever says where to look. Mirrors [constructions/weights/t3.py].

    Two heads read the relation of the step and the current entity; the MLP is T1b's selector. [t3_step]: if the heads
    attend to these two tokens, the next entity of the chain is emitted with margin at least 1. The two position codes
    are in [T3Parabola] and [T3Signs]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading Chain.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights: block coordinates first, positions after them *)

(** The least P with q·(R·P + (R-1)·2^b) >= total. *)
Definition offset (R q b total : nat) : nat :=
  ((total - q * (R - 1) * 2 ^ b + (q * R - 1)) %/ (q * R))%N.

Section Weights.
Variables (N R b : nat) (g : nat -> nat -> nat).
Variables (extra queries P : nat) (place : nat -> nat -> int) (query key : nat -> nat -> nat -> int).
Let q := code_digits N b.
Let e := (R * q)%N.

Definition t3_layer : layer :=
  {| n_heads := 2; n_query := queries; n_value := e; n_width := e;
     fQ := query; fK := key;
     fV := fun _ i v => if (i == v)%N then 1 else 0; fO := fun _ v j => if (v == j)%N then 1 else 0;
     fin := identity; fbin := fun=> P%:Z; fout := sum_of_blocks q 1; fbout := fun=> 0 |}.

Definition t3 : weights :=
  {| dimension := (e + extra)%N;
     subject := fun x j => if (j < e)%N then (digit b (g (j %/ q)%N x) (j %% q))%:Z else 0;
     relation := fun r j => if (j < e)%N then - P%:Z - (if (j %/ q == r)%N then 0 else (2 ^ b)%N%:Z) else 0;
     position := fun t j => if (j < e)%N then 0 else place t (j - e);
     layers := [:: t3_layer];
     unembed := readout_by_distance b q;
     unbias := bias_by_distance b q;
     attends := Hardmax; adds := false; masked := false |}.
End Weights.

(** Head h, asked from position n, scores [target] above every other position, by [gap] at least. *)
Definition attends_by (W : weights) (L : layer) (st : nat -> nat -> int) (n h target : nat) (gap : int) : Prop :=
  forall s, (s <= n)%N -> s != target -> score W L (st n) (st s) h + gap <= score W L (st n) (st target) h.

(** ** Sums of the block coordinates *)

Lemma sum_block R q r : \sum_(j < R * q) (if (j %/ q == r)%N then 1 else 0) = (if (r < R)%N then q%:Z else 0) :> int.
Proof.
elim: R => [|R IH]; first by rewrite mul0n big_ord0.
rewrite mulSnr big_split_ord /= IH.
rewrite (eq_bigr (fun=> if (R == r)%N then 1 else 0)) => [|i _]; last first.
  by rewrite divnMDl ?divn_small ?addn0 // (leq_ltn_trans _ (ltn_ord i)).
rewrite sumr_const card_ord; case: (ltngtP r R) => [r_R|r_R|->].
- by rewrite ltnS ltnW // mul0rn addr0.
- by rewrite ltnNge r_R /= mul0rn.
- by rewrite ltnSn add0r natz.
Qed.

(** The offset is large enough. *)
Lemma offset_enough R q b total : (0 < R)%N -> (0 < q)%N -> (total <= q * (R * offset R q b total + (R - 1) * 2 ^ b))%N.
Proof.
move=> R0 q0; rewrite /offset; set a := (total - _)%N.
have qR : (0 < q * R)%N by rewrite muln_gt0 q0.
have := divn_eq (a + (q * R - 1)) (q * R); have := ltn_pmod (a + (q * R - 1)) qR.
move: (_ %/ _)%N (_ %% _)%N => u v; rewrite /a; move: (2 ^ b)%N => B; nia.
Qed.

Section Step.
Variables (F : realFieldType) (N R k b : nat) (g : fact_system N R).
Variables (extra queries P : nat) (place : nat -> nat -> int) (query key : nat -> nat -> nat -> int).
Hypotheses (N2 : (1 < N)%N) (R1 : (0 < R)%N) (k1 : (0 < k)%N) (b1 : (0 < b)%N).
Let q := code_digits N b.
Let e := (R * q)%N.
Let W := t3 N R b (table g) extra queries P place query key.
Let L := t3_layer N R b queries P query key.
Let B := (2 ^ b)%N.

Let q0 : (0 < q)%N.
Proof. exact: code_digits_gt0. Qed.

Variables (x : 'I_N) (w : k.-tuple 'I_R) (i : nat) (n : nat) (tokens : n.+1.-tuple 'I_(N + R)).
Hypotheses (i_k : (i < k)%N) (is_begun : tval tokens = begun g x w (iota 1 i)).
Let st := stream_at W tokens.

Lemma n_step : n = (k + i)%N.
Proof. by rewrite (size_begun is_begun) size_iota. Qed.

(** The entity whose next fact is asked, its position, and the relation asked. *)
Definition current : 'I_N := follow g (take i w) x.
Definition current_at : nat := if i is 0 then 0%N else (k + i)%N.
Definition asked : 'I_R := tnth w (Ordinal i_k).

Lemma current_token : token_at tokens current_at = current.
Proof.
rewrite /current_at /current; case: (i) is_begun => [|i'] begun_i; first by rewrite (begun_subject begun_i) take0.
by rewrite (begun_entity begun_i) ?size_iota // nth_iota.
Qed.

Lemma asked_token : token_at tokens i.+1 = (N + asked)%N.
Proof.
rewrite (begun_relation is_begun i_k) /asked (tnth_nth (tnth w (Ordinal i_k))) /numbers.
by rewrite (nth_map (tnth w (Ordinal i_k))) ?size_tuple.
Qed.

Lemma next : follow g (take i.+1 w) x = g asked current.
Proof.
rewrite /current /asked (tnth_nth (tnth w (Ordinal i_k))) (take_nth (tnth w (Ordinal i_k))) ?size_tuple //.
by rewrite /follow foldl_rcons.
Qed.

(** The block coordinates of an entity and of a relation, and their sums. *)
Definition entity_entry (y : 'I_N) (j : nat) : int := (digit b (table g (j %/ q) y) (j %% q))%:Z.

Lemma st_entity t (y : 'I_N) j : token_at tokens t = y -> (j < e)%N -> st t j = entity_entry y j.
Proof. by move=> tok j_e; rewrite /st /stream_at /start tok ltn_ord /= j_e addr0. Qed.

Lemma st_asked t (r : 'I_R) j : token_at tokens t = (N + r)%N -> (j < e)%N ->
  st t j = - P%:Z - (if (j %/ q == r)%N then 0 else B%:Z).
Proof. by move=> tok j_e; rewrite /st /stream_at /start tok ltnNge leq_addr /= addKn j_e addr0. Qed.

Lemma st_place t j : st t (e + j)%N = place t j.
Proof.
rewrite /st /stream_at /start /= -/e (ltnNge (e + j)) leq_addr /= addKn.
by case: ifP => _; rewrite add0r.
Qed.

Lemma entity_sum (y : 'I_N) : 0 <= \sum_(j < e) entity_entry y j <= (e * B.-1)%N%:Z.
Proof.
apply/andP; split; first exact: sumr_ge0.
apply: (@le_trans _ _ (\sum_(j < e) B.-1%:Z)).
  apply: ler_sum => j _; have := digit_lt b (table g (j %/ q) y) (j %% q); rewrite -/B /entity_entry.
  by move: (digit _ _ _) => u; lia.
by rewrite sumr_const card_ord -mulr_natr natz -PoszM mulnC.
Qed.

Lemma relation_sum (r : 'I_R) : \sum_(j < e) (- P%:Z - (if (j %/ q == r)%N then 0 else B%:Z)) =
  - (q * (R * P + (R - 1) * B))%N%:Z.
Proof.
rewrite (eq_bigr (fun j : 'I_e => - (P + B)%N%:Z + B%:Z * (if (j %/ q == r)%N then 1 else 0))) => [|j _]; last first.
  by case: ifP => _; lia.
rewrite big_split /= -mulr_sumr sum_block ltn_ord sumr_const card_ord -mulr_natr natz; have := ltn_ord r; nia.
Qed.

(** The sums at the positions of the prompt so far. *)
Lemma sum_entity t y : token_at tokens t = y -> (y < N)%N -> 0 <= \sum_(j < e) st t j <= (e * B.-1)%N%:Z.
Proof.
move=> tok y_N; rewrite (eq_bigr (fun j : 'I_e => entity_entry (Ordinal y_N) j)) => [|j _]; first exact: entity_sum.
by apply: st_entity.
Qed.

Lemma sum_current : 0 <= \sum_(j < e) st current_at j.
Proof. by have /andP[] := sum_entity current_token (ltn_ord _). Qed.

Lemma sum_relation t : (t < k)%N -> \sum_(j < e) st t.+1 j = - (q * (R * P + (R - 1) * B))%N%:Z.
Proof.
move=> t_k; have tok := begun_relation is_begun t_k; pose r := tnth w (Ordinal t_k).
have tok_r : token_at tokens t.+1 = (N + r)%N by rewrite tok /r (tnth_nth r) /numbers (nth_map r) ?size_tuple.
rewrite -(relation_sum r); apply: eq_bigr => j _; exact: st_asked.
Qed.

Lemma sum_any t : (t <= n)%N -> \sum_(j < e) st t j <= (e * B.-1)%N%:Z.
Proof.
rewrite n_step; case: t => [|t] t_n; first by have /andP[] := sum_entity (begun_subject is_begun) (ltn_ord x).
have [t_k|k_t] := ltnP t k; first by rewrite sum_relation //; move: (q * _)%N (e * _)%N => u v; lia.
have t_i : (t - k < size (iota 1 i))%N by rewrite size_iota; lia.
have := begun_entity is_begun t_i; rewrite addnS subnKC // => tok.
by have /andP[] := sum_entity tok (ltn_ord _).
Qed.

(** ** One step *)

(** The heads attend to the relation of the step and to the current entity. *)
Hypothesis reads_relation : forall s, (s <= n)%N -> s != i.+1 -> score W L (st n) (st s) 0 < score W L (st n) (st i.+1) 0.
Hypothesis reads_entity :
  forall s, (s <= n)%N -> s != current_at -> score W L (st n) (st s) 1 < score W L (st n) (st current_at) 1.

(** What the MLP reads. *)
Definition gated (j : nat) : int :=
  if (j < e)%N then entity_entry current j - P%:Z - (if (j %/ q == asked)%N then 0 else B%:Z) else 0.

Lemma t3_logits a : logits (over F N R N W) tokens 0 a =
  (\sum_(j < e + extra) mlp (e + extra) L gated j * unembed W j a + unbias W a)%:~R.
Proof.
pose target h := if h is 0 then i.+1 else current_at.
have target_n h : (target h <= n)%N by rewrite n_step; case: h => [|h] /=; rewrite /current_at; case: (i) i_k => *; lia.
rewrite (@logits_hardmax F (fun=> 0) N R N n W L erefl tokens target) //; last first.
  by move=> h s h_2 s_n; case: h h_2 => [|[|//]] _; [apply: reads_relation | apply: reads_entity].
congr (_%:~R); congr (_ + _); apply: eq_bigr => j _; congr (_ * _); rewrite /= add0r.
apply: eq_mlp => {}j; rewrite /= add0r !big_ord_recl big_ord0 /= addr0 /gated.
have copied t : \sum_(v < e) (\sum_(l < e + extra) st t l * (if (l == v :> nat)%N then 1 else 0)) *
    (if (v == j :> nat)%N then 1 else 0) = if (j < e)%N then st t j else 0.
  case: (ltnP j e) => [j_e|e_j]; last by rewrite big1 // => v _; rewrite ifN ?mulr0 // neq_ltn (leq_trans (ltn_ord v) e_j).
  rewrite (@sum_delta _ (fun v => \sum_(l < e + extra) st t l * (if (l == v :> nat)%N then 1 else 0))) // mulr1.
  by rewrite sum_delta ?mulr1 // (leq_trans j_e) ?leq_addr.
rewrite !copied; case: ifP => j_e; last by rewrite addr0.
by rewrite (st_asked asked_token j_e) (st_entity current_token j_e); move: (entity_entry _ _) (if _ then _ else _) => u v; lia.
Qed.

(** The next entity is emitted. *)
Lemma t3_step : predicts_with_margin (over F N R N W) 1 tokens (follow g (take i.+1 w) x).
Proof.
move=> a; rewrite next => differ; rewrite !t3_logits -[1]/(1%:~R) -rmorphD ler_int.
apply: read_digits => // [|j j_q]; first by rewrite /e; have := leq_pmull q R1; rewrite -/q; lia.
have e_d j' : (j' < e)%N -> (j' < e + extra)%N by move=> lt; rewrite (leq_trans lt) ?leq_addr.
have gate j' : (j' < e)%N -> hidden (e + extra) L gated j' =
    if (j' %/ q == asked)%N then (digit b (g asked current) (j' %% q))%:Z else 0.
  move=> j_e; rewrite hidden_identity ?e_d // /gated j_e /= /entity_entry.
  have := digit_lt b (table g (j' %/ q) current) (j' %% q); rewrite -/B.
  by case: eqP => [->|_] lt; rewrite ?table_ord; lia.
have asked_R := ltn_ord asked.
rewrite (@mlp_open _ _ _ R q asked 1) // => [|j' j_e /negbTE other]; last by rewrite gate // other.
by rewrite j_q gate ?entry_lt // divnMDl // modnMDl divn_small // modn_small // addn0 eqxx /= addr0 mulr1.
Qed.
End Step.

(** * T3. Chain of thought with softmax attention. Mirrors [constructions/weights/t3.py], softmax=True.

    The weights are those of hardmax ([T3Parabola], [T3Signs]); attention is softmax over any ordered field, with x =
    exp(-β) as an element. For all N >= 2, R >= 1, k >= 1, b >= 1 and any R maps of N entities every chain of thought
    for k hops is right at every step, ties being failures: with positions (t, t²) if (9(2^(b+1) - 1))·x <= 1, that is β
    >= ln(9(2^(b+1) - 1)); with one-bit position codes if 8(2k - 1)·spread·x² <= 1, that is β >= ½·ln(8(2k -
    1)·spread). Idea: the scores of the tokens that a head is meant to read lie above all others by at least τ (2 with
    signs), so that the two heads together move every block coordinate by less than 1/2; digits are 1 apart and closed
    blocks at -1 or below.

    Main theorems: [T3_parabola_softmax], [T3_parabola_softmax_size], [T3_parabola_softmax_universal],
    [T3_signs_softmax], [T3_signs_softmax_size], [T3_signs_softmax_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading Chain Softmax T3 T3Parabola T3Signs.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** The largest difference of two block coordinates. *)
Definition spread (b P : nat) : nat := (P + (2 ^ b.+1).-1)%N.

(** The sum of a matrix's row against a column with one entry. *)
Lemma sum_one (F : realFieldType) d (f : 'I_d -> F) (j : 'I_d) (c : int) :
  \sum_(i < d) f i * (if (i == j :> nat)%N then c else 0)%:~R = f j * c%:~R.
Proof.
rewrite (bigD1 j) //= eqxx big1 ?addr0 // => i differ.
by rewrite -[(i == j :> nat)%N]/(i == j) (negbTE differ) mulr0.
Qed.

Section Step.
Variables (F : realFieldType) (e : F -> F) (x1 : F).
Hypothesis e_exp : exponential e x1.
Variables (N R k b : nat) (g : fact_system N R).
Variables (extra queries P : nat) (place : nat -> nat -> int) (query key : nat -> nat -> nat -> int).
Hypotheses (N2 : (1 < N)%N) (R1 : (0 < R)%N) (k1 : (0 < k)%N) (b1 : (0 < b)%N).
Let q := code_digits N b.
Let entries := (R * q)%N.
Let d := (entries + extra)%N.
Let W := t3 N R b (table g) extra queries P place query key.
Let L := t3_layer N R b queries P query key.
Let B := (2 ^ b)%N.
Variables (x : 'I_N) (w : k.-tuple 'I_R) (i : nat) (n : nat) (tokens : n.+1.-tuple 'I_(N + R)).
Hypotheses (i_k : (i < k)%N) (is_begun : tval tokens = begun g x w (iota 1 i)).
Let st := stream_at W tokens.
Let M := over_with e N R N (softened W).
Let stream := embed M tokens.

(** Both heads read what they are meant to by a gap of m, which leaks less than half a digit. *)
Variable m : nat.
Hypotheses (reads0 : attends_by W L st n 0 i.+1 m%:Z) (reads1 : attends_by W L st n 1 (current_at k i) m%:Z).
Hypothesis small : 4 * (n%:R * (x1 ^+ m * (spread b P)%:R)) < 1 :> F.

Let q0 : (0 < q)%N.
Proof. exact: code_digits_gt0. Qed.

Lemma softE t (j : 'I_d) : stream t j = (st t j)%:~R.
Proof. exact: (@streamE F e N R N n (softened W) tokens t j). Qed.

(** The coordinates of a block lie between -P - B and B - 1. *)
Lemma block_range t j : (t <= n)%N -> (j < entries)%N -> - (P + B)%N%:Z <= st t j <= B.-1%:Z.
Proof.
move=> t_n j_e; have B0 : (0 < B)%N by rewrite expn_gt0.
have [tok|tok] : (exists y : 'I_N, token_at tokens t = y) \/ (exists r : 'I_R, token_at tokens t = (N + r)%N).
  rewrite /token_at (nth_map (tnth tokens ord0)) ?size_tuple //.
  by case: (split_ordP (nth (tnth tokens ord0) tokens t)) => y ->; [left | right]; exists y.
  case: tok => y tok; rewrite /st (@st_entity N R b g extra queries P place query key n tokens t y j tok j_e).
  rewrite /entity_entry; have := digit_lt b (table g (j %/ code_digits N b) y) (j %% code_digits N b).
  by rewrite -/B; move: (digit _ _ _) => u; lia.
case: tok => r tok; rewrite /st (@st_asked N R b g extra queries P place query key n tokens t r j tok j_e).
by rewrite -/B; case: ifP => _; lia.
Qed.

(** What a head hands on: its target's block coordinates, but for the leak. *)
Lemma head_near (h : 'I_2) target (j : 'I_d) : attends_by W L st n h target m%:Z -> (target <= n)%N -> (j < entries)%N ->
  `|(@weigh F e n.+1 (softened W) L stream h *m stream) ord_max j - (st target j)%:~R| <=
  n%:R * (x1 ^+ m * (spread b P)%:R).
Proof.
move=> reads target_n j_e; have target_n1 : (target < n.+1)%N by [].
have [x0 _ _ _] := e_exp.
have := @softmax_near F e x1 e_exp n d (@scores F n.+1 (softened W) L stream h) stream ord_max (Ordinal target_n1) j
  (x1 ^+ m) (spread b P)%:R.
rewrite softE; apply.
- move=> s other; rewrite !(@scoresE F n.+1 (softened W) L stream ord_max st h) //; try exact: softE.
  by apply: (gap_weight e_exp); apply: reads => //; rewrite -ltnS.
- by rewrite exprn_ge0 // ltW.
- move=> s; rewrite !softE -rmorphB -intr_norm [(spread b P)%:R]pmulrn ler_int /spread expnS -/B.
  have s_n : (s <= n)%N by rewrite -ltnS.
  have := block_range s_n j_e; have := block_range target_n j_e; rewrite -/B /=.
  have B0 : (0 < B)%N by rewrite expn_gt0.
  by move: (st s j) (st target j) => u v; lia.
Qed.

Let leak : F := n%:R * (x1 ^+ m * (spread b P)%:R).
Let mean (h : 'I_2) (j : 'I_d) : F := (@weigh F e n.+1 (softened W) L stream h *m stream) ord_max j.

(** The hidden units. *)
Definition opened (u : 'I_entries) : F :=
  Num.max 0 (mean ord0 (lshift extra u) + mean ord_max (lshift extra u) + P%:Z%:~R).

Lemma copied (A : 'M[F]_(n.+1, d)) (j : 'I_d) :
  (A *m matrix F d entries (fun i v => if (i == v)%N then 1 else 0) *m
     matrix F entries d (fun v j => if (v == j)%N then 1 else 0)) ord_max j = if (j < entries)%N then A ord_max j else 0.
Proof.
rewrite mxE; case: ltnP => [j_e|e_j].
  rewrite (bigD1 (Ordinal j_e)) //= big1 => [|v differ].
    rewrite !mxE /= eqxx mulr1 addr0 -[RHS]mulr1 -(sum_one (fun l => A ord_max l) j 1).
    by apply: eq_bigr => l _; rewrite mxE.
  by rewrite [X in _ * X]mxE -[(v == j :> nat)%N]/(v == Ordinal j_e) (negbTE differ) mulr0.
by rewrite big1 // => v _; rewrite [X in _ * X]mxE ifN ?mulr0 // neq_ltn (leq_trans (ltn_ord v) e_j).
Qed.

Lemma outputE (j : 'I_d) : apply_block M stream (block_over F (dimension (softened W)) L) ord_max j =
  \sum_(u < entries) opened u * (sum_of_blocks q 1 u j)%:~R.
Proof.
rewrite /apply_block /=; set att := \sum_h _.
have attE (i' : 'I_d) : att ord_max i' = if (i' < entries)%N then mean ord0 i' + mean ord_max i' else 0.
  rewrite /att summxE !big_ord_recl big_ord0 addr0 !copied (_ : lift ord0 ord0 = ord_max); last exact: val_inj.
  by case: ifP; rewrite ?addr0.
clearbody att; rewrite !mxE addr0; apply: eq_bigr => u _; rewrite !mxE /opened; congr (Num.max 0 (_ + _) * _).
have := sum_one (fun l => att ord_max l) (lshift extra u) 1; rewrite mulr1 attE /= ltn_ord => <-.
by apply: eq_bigr => l _; rewrite mxE.
Qed.

Lemma leak_small : 2 * leak < 1.
Proof.
have leak0 : 0 <= leak by have [x0 _ _ _] := e_exp; rewrite !mulr_ge0 ?exprn_ge0 ?ler0n // ltW.
by apply: le_lt_trans small; rewrite ler_wpmul2r // ler_nat.
Qed.

(** Before the ReLU: the digit of the current entity, less 2^b if its block is not the one asked for. *)
Lemma gate_near (u : 'I_entries) :
  `|mean ord0 (lshift extra u) + mean ord_max (lshift extra u) + P%:Z%:~R -
    ((digit b (table g (u %/ q) (current g x w i)) (u %% q))%:Z - (if (u %/ q == asked w i_k)%N then 0 else B%:Z))%:~R| <=
  2 * leak.
Proof.
have target0 : (i.+1 <= n)%N by rewrite (n_step is_begun); lia.
have target1 : (current_at k i <= n)%N by rewrite (n_step is_begun) /current_at; case: (i) => *; lia.
have near0 := @head_near ord0 i.+1 (lshift extra u) reads0 target0 (ltn_ord u).
have near1 := @head_near ord_max (current_at k i) (lshift extra u) reads1 target1 (ltn_ord u).
have -> : (digit b (table g (u %/ q) (current g x w i)) (u %% q))%:Z - (if (u %/ q == asked w i_k)%N then 0 else B%:Z) =
    st i.+1 u + st (current_at k i) u + P%:Z.
  rewrite /st (@st_asked N R b g extra queries P place query key n tokens _ _ u (asked_token i_k is_begun)) //.
  rewrite (@st_entity N R b g extra queries P place query key n tokens _ _ u (current_token is_begun)) //.
  by rewrite /entity_entry -/q -/B; move: (digit _ _ _) (if _ then _ else _) => z c; lia.
rewrite [(_ + P%:Z)%:~R]intrD [(st _ _ + st _ _)%:~R]intrD opprD addrACA subrr addr0 opprD addrACA mulr_natl mulr2n.
by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
Qed.

Lemma closed_block (u : 'I_entries) : (u %/ q != asked w i_k)%N -> opened u = 0.
Proof.
move=> other; apply/max_idPl; have := gate_near u; rewrite (negbTE other) ler_norml => /andP[_].
rewrite ler_subl_addr => high; apply: le_trans high _; have := ltW leak_small.
move=> leak1; apply: (@le_trans _ _ (1 + (-1)%:~R)); last by rewrite rmorphN subrr.
rewrite ler_add // ler_int; have := digit_lt b (table g (u %/ q) (current g x w i)) (u %% q); rewrite -/B.
by move: (digit _ _ _) => z; lia.
Qed.

Lemma open_block_near (u : 'I_entries) : (u %/ q == asked w i_k)%N ->
  `|opened u - (digit b (g (asked w i_k) (current g x w i)) (u %% q))%:R| <= 2 * leak.
Proof.
move=> block; have := gate_near u; rewrite block subr0 (eqP block) table_ord -pmulrn /opened.
set z := _ + P%:Z%:~R; set D := (digit _ _ _)%:R; have D0 : 0 <= D by rewrite ler0n.
apply: le_trans; case: (leP 0 z) => z0; first exact: lexx.
rewrite sub0r normrN ger0_norm // distrC ger0_norm ?subr_ge0; last by rewrite (le_trans (ltW z0)).
by rewrite ler_addl oppr_ge0 ltW.
Qed.

(** The next entity is emitted. *)
Lemma soft_step : predicts M tokens (follow g (take i.+1 w) x).
Proof.
move=> a; rewrite (next g x w i_k) => differ.
pose v j : F := \sum_(u < entries) opened u * (sum_of_blocks q 1 u j)%:~R.
have logitE c : logits M tokens 0 c = \sum_(j < d) v j * (readout_by_distance b q j c)%:~R +
    (bias_by_distance b q c)%:~R.
  rewrite /logits /= mxE [X in X + _]mxE [X in _ + X]mxE; congr (_ + _); apply: eq_bigr => j _.
  by rewrite [row _ _ _ _]mxE [matrix _ _ _ _ _ _]mxE /v -outputE.
rewrite !logitE; apply: read_near => // [|j j_q]; first by rewrite /d /entries; have := leq_pmull q R1; rewrite -/q; lia.
have place_j : (asked w i_k * q + j < entries)%N by rewrite entry_lt ?ltn_ord.
have div_j : ((asked w i_k * q + j) %/ q = asked w i_k)%N by rewrite divnMDl // divn_small // addn0.
have mod_j : ((asked w i_k * q + j) %% q = j)%N by rewrite modnMDl modn_small.
have -> : v j = opened (Ordinal place_j).
  rewrite /v (bigD1 (Ordinal place_j)) //= /sum_of_blocks j_q mod_j eqxx mulr1 big1 ?addr0 // => u other.
  case: eqP => [u_j|_]; last by rewrite mulr0.
  rewrite closed_block ?mul0r //; apply: contra other => /eqP u_asked; apply/eqP/val_inj.
  by rewrite /= (divn_eq u q) u_asked u_j.
have := @open_block_near (Ordinal place_j); rewrite /= div_j mod_j eqxx => /(_ isT) near.
have four : 4 = 2 * 2 :> F by rewrite -natrM.
by apply: le_lt_trans _ small; rewrite four -mulrA; apply: ler_wpmul2l; [exact: ler0n | exact: near].
Qed.
End Step.

(** ** Positions (t, t²) *)

(** P <= B·k + 1, so that the spread is at most B·(k + 2). *)
Lemma spread_le R q b k : (0 < R)%N -> (0 < q)%N -> (0 < b)%N ->
  (spread b (offset R q b ((R * q * (2 ^ b).-1).+1 * k + 1)) <= 2 ^ b * (k + 2))%N.
Proof.
move=> R0 q0 b0; have B0 : (0 < 2 ^ b)%N by rewrite expn_gt0.
rewrite /spread /offset expnS; move: (2 ^ b)%N B0 => B B0.
have qR : (0 < q * R)%N by rewrite muln_gt0 q0.
suff : (((R * q * B.-1).+1 * k + 1 - q * (R - 1) * B + (q * R - 1)) %/ (q * R) <= B * k + 1)%N by lia.
rewrite -ltnS ltn_divLR // (mulnC R q); move: (q * R)%N (q * (R - 1) * B)%N qR => Q cut.
case: Q => // Q _; case: B B0 => // B _; rewrite subn1 /=.
by apply: leq_ltn_trans (leq_add (leq_subr _ _) (leqnn _)) _; nia.
Qed.

(** 8(2k - 1)(k + 2) < 27^k *)
Lemma powers_of_27 k : (0 < k)%N -> (8 * (2 * k - 1) * (k + 2) < 27 ^ k)%N.
Proof.
case: k => // k _; elim: k => // k IH; rewrite expnS; move: IH; move: (27 ^ k.+1)%N => p IH; nia.
Qed.

Section Theorems.
Variables (F : realFieldType) (e : F -> F) (x : F).
Hypothesis e_exp : exponential e x.
Variables (N R k b : nat).
Let q := code_digits N b.

Definition t3_parabola_softmax (g : nat -> nat -> nat) : weights := softened (t3_parabola N R k b g).
Definition T3_parabola_softmax_model (g : fact_system N R) :=
  over_with e N R N (t3_parabola_softmax (table g)).

(** Every chain of thought for k hops is right at every step, if β >= ln(9(2^(b+1) - 1)). *)
Theorem T3_parabola_softmax (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N ->
  (9 * (2 ^ b.+1 - 1))%N%:R * x <= 1 -> answers_chain (T3_parabola_softmax_model g) k (iota 1 k) g.
Proof.
move=> N2 R1 k1 b1 cold y w; apply: emits_steps => done l rest n tokens lengths is_begun.
have [done_i -> i_k] := each_step lengths; rewrite done_i in is_begun.
have [reads0 reads1] := parabola_reads N2 R1 k1 b1 i_k is_begun.
apply: (soft_step e_exp N2 R1 k1 b1 i_k is_begun reads0 reads1).
have q0 := code_digits_gt0 N2 b1; have n_i := n_step is_begun; have [x0 x1 _ _] := e_exp.
set P := parabola_offset N R k b; have spreads : (spread b P <= 2 ^ b * (k + 2))%N := spread_le k R1 q0 b1.
have B2 : (2 <= 2 ^ b)%N by rewrite -{1}(expn1 2) leq_exp2l.
move: cold spreads; rewrite expnS; move: (2 ^ b)%N B2 => B B2 cold spreads.
have x27 : 27%:R * x <= 1.
  by apply: le_trans cold; apply: ler_wpmul2r; [exact: ltW | rewrite ler_nat; lia].
have xB : 27%:R * x * B%:R <= 2.
  apply: (@le_trans _ _ (2 * ((9 * (2 * B - 1))%N%:R * x))); last first.
    by apply: le_trans (ler_wpmul2l (ler0n F 2) cold) _; rewrite mulr1.
  by rewrite mulrA mulrAC -!natrM; apply: ler_wpmul2r; [exact: ltW | rewrite ler_nat; lia].
have xkB : (27 ^ k)%N%:R * (x ^+ k * B%:R) <= 2.
  have -> : (27 ^ k)%N%:R * (x ^+ k * B%:R) = (27%:R * x) ^+ k.-1 * (27%:R * x * B%:R).
    by rewrite mulrA natrX -exprMn -{1}(prednK k1) exprSr !mulrA.
  have x27_0 : 0 <= 27%:R * x by apply: mulr_ge0; [exact: ler0n | exact: ltW].
  apply: le_trans _ xB; rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r; first by rewrite mulr_ge0 ?ler0n.
  exact: exprn_ile1.
pose c := (4 * (2 * k - 1) * (k + 2))%N.
have powers := powers_of_27 k1; have p0 : 0 < (27 ^ k)%N%:R :> F by rewrite ltr0n expn_gt0.
rewrite -(ltr_pmul2l p0) mulr1; apply: (@le_lt_trans _ _ (c%:R * 2)); last first.
  by rewrite -natrM ltr_nat /c; move: (27 ^ k)%N powers => z powers; nia.
apply: (@le_trans _ _ (c%:R * ((27 ^ k)%N%:R * (x ^+ k * B%:R)))); last by apply: ler_wpmul2l; rewrite ?ler0n.
rewrite [leRHS]mulrCA; apply: ler_wpmul2l; first exact: ltW.
have -> : c%:R * (x ^+ k * B%:R) = 4 * ((2 * k - 1)%N%:R * (x ^+ k * (B * (k + 2))%N%:R)) :> F.
  rewrite /c !natrM -!mulrA; congr (_ * (_ * _)); by rewrite mulrCA; congr (_ * _); exact: mulrC.
apply: ler_wpmul2l; first exact: ler0n.
have xm0 m : 0 <= x ^+ m by apply: exprn_ge0; exact: ltW.
apply: ler_pmul; [exact: ler0n | by apply: mulr_ge0; [exact: xm0 | exact: ler0n] | by rewrite ler_nat n_i; lia |].
apply: ler_pmul; [exact: xm0 | exact: ler0n | | by rewrite ler_nat].
by apply: ler_wiexpn2l; [exact: ltW | exact: x1 | rewrite n_i leq_addr].
Qed.

(** d = R·⌈p/b⌉ + 2, and one block, of width R·⌈p/b⌉. *)
Theorem T3_parabola_softmax_size (g : fact_system N R) :
  dimension (t3_parabola_softmax (table g)) = (R * q + 2)%N /\
  widths (T3_parabola_softmax_model g) = [:: (R * q)%N].
Proof. by []. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T3_parabola_softmax_universal : universal T3_parabola_softmax_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T3_parabola_softmax_model /over_with /= col_mxKd. Qed.

(** ** One-bit position codes *)

Definition t3_signs_softmax (g : nat -> nat -> nat) : weights := softened (t3_signs N R k b g).
Definition T3_signs_softmax_model (g : fact_system N R) := over_with e N R N (t3_signs_softmax (table g)).

(** Every chain of thought for k hops is right at every step, if β >= ½·ln(8(2k - 1)·spread). *)
Theorem T3_signs_softmax (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N -> (1 <= b)%N ->
  (8 * (2 * k - 1) * spread b (signs_offset N R k b))%N%:R * x ^+ 2 <= 1 ->
  answers_chain (T3_signs_softmax_model g) k (iota 1 k) g.
Proof.
move=> N2 R1 k1 b1 cold y w; apply: emits_steps => done l rest n tokens lengths is_begun.
have [done_i -> i_k] := each_step lengths; rewrite done_i in is_begun.
have [reads0 reads1] := signs_reads N2 R1 k1 b1 i_k is_begun.
apply: (@soft_step F e x e_exp N R k b g _ _ _ _ _ _ N2 R1 k1 b1 y w _ n tokens i_k is_begun 2 reads0 reads1).
have n_i := n_step is_begun; have [x0 _ _ _] := e_exp; set S := spread _ _ in cold *.
have x2 : 0 <= x ^+ 2 by apply: exprn_ge0; exact: ltW.
move: (x ^+ 2) x2 cold => z z0 cold.
apply: (@le_lt_trans _ _ ((4 * (2 * k - 1) * S)%N%:R * z)); last first.
  have [two four] : (0 : F) < 2 /\ (8 * (2 * k - 1) * S)%N%:R = 2 * (4 * (2 * k - 1) * S)%N%:R :> F.
    by split; [rewrite ltr0n | rewrite -natrM; congr (_%:R); nia].
  rewrite -(ltr_pmul2l two) mulr1; apply: (@le_lt_trans _ _ 1); last by rewrite ltr1n.
  by apply: le_trans cold; rewrite four mulrA.
rewrite !natrM -!mulrA; apply: ler_wpmul2l; first exact: ler0n.
rewrite [z * _]mulrC; apply: ler_wpmul2r; first by apply: mulr_ge0; rewrite ?ler0n.
by rewrite ler_nat n_i; lia.
Qed.

(** d = R·⌈p/b⌉ + 2·⌈log2 2k⌉, and one block, of width R·⌈p/b⌉. *)
Theorem T3_signs_softmax_size (g : fact_system N R) :
  dimension (t3_signs_softmax (table g)) = (R * q + 2 * up_log 2 (2 * k))%N /\
  widths (T3_signs_softmax_model g) = [:: (R * q)%N].
Proof. by []. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T3_signs_softmax_universal : universal T3_signs_softmax_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T3_signs_softmax_model /over_with /= col_mxKd. Qed.
End Theorems.

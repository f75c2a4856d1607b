(** * T10. Arbitrary maps, one pass: the last edges are free, and nothing is saved in the middle.

    Facts are R maps of N entities, not necessarily injective. The constructions hold unchanged: [T1.T1], [T1b.T1b],
    [T2.T2], [T3Parabola.T3_parabola], [T3Signs.T3_signs], [T6.T6] speak of any maps. Lower bounds, for models that
    answer all queries of k hops of all maps in one pass: if m·(1 + R + .. + R^(k-1)) <= N, then with a fixed read-out
    2^(B + m·d·b) >= N^(m·R^k), universal 2^(d·b) >= N^(R^k), learned 2^(B + (m+q)·d·b) >= q^(m·R^k) for q <= N, tied
    2^(B + m·d·b) >= m^(m·R^k). Idea: m roots have disjoint trees; the edges out of their last level may end anywhere,
    so that the answers of the roots to words of length k are any vector of values ([T10_every_vector]).

    Main theorems: [T10_every_vector], [T10_universal], [T10_fixed], [T10_learned], [T10_tied], [T10_no_gap]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Decode Bound T2c T2.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.

(** ** Any answers of the roots are those of some maps *)

Section Maps.
Variables (N R k m : nat).
Hypotheses (R0 : 0 < R) (fits : m * (\sum_(i < k.+1) R ^ i) <= N).

Lemma roots_fit : m <= N.
Proof. by apply: leq_trans fits; rewrite -/(above R m k.+1) above_next leq_addr. Qed.

(** Root number i is entity i. *)
Definition root (i : 'I_m) : 'I_N := widen_ord roots_fit i.

Lemma node_inj (i i' : nat) (u u' : seq 'I_R) : size u = size u' -> node m i u = node m i' u' -> i = i' /\ u = u'.
Proof.
elim/last_ind: u u' => [|u r IH] u'; first by case: u'.
case/lastP: u' => [|u' r']; first by rewrite size_rcons.
rewrite !size_rcons /node !foldl_rcons -/(node m i u) -/(node m i' u') /child => -[sizes] same.
have [same_node same_r] : node m i u = node m i' u' /\ r = r' :> nat.
  have := ltn_ord r; have := ltn_ord r'; move: same; move: (node m i u) (node m i' u') => v v'.
  by case: (ltngtP v v') => [lt|lt|->]; nia.
by have [-> ->] := IH _ sizes same_node; rewrite (val_inj same_r).
Qed.

Lemma every_vector (y : 'I_m -> k.+1.-tuple 'I_R -> 'I_N) :
  exists g : fact_system N R, forall i (w : k.+1.-tuple 'I_R), follow g w (root i) = y i w.
Proof.
pose I := above R m k; have fits' : above R m k.+1 <= N by [].
pose ends (r : 'I_R) (v a : 'I_N) := [exists i : 'I_m, exists u : k.-tuple 'I_R,
  (node m i u == v) && (y i [tuple of rcons u r] == a)].
pose g : fact_system N R :=
  [ffun r : 'I_R => [ffun v : 'I_N => if v < I then insubd v (child R m v r) else odflt v [pick a | ends r v a]]].
have walk i (u : seq 'I_R) : size u <= k -> follow g u (root i) = node m i u :> nat.
  elim/last_ind: u => [//|u r IH]; rewrite size_rcons => u_k; rewrite /follow foldl_rcons -/(follow g u (root i)).
  have low : node m i u < I by have /andP[_ /leq_trans] := node_level R0 u (ltn_ord i); apply; apply: above_le.
  rewrite !ffunE (IH (ltnW u_k)) low val_insubd /node foldl_rcons -/(node m i u) ifT //.
  have /andP[_ next] := node_level R0 (rcons u r) (ltn_ord i); move: next.
  rewrite /node foldl_rcons -/(node m i u) size_rcons => /leq_trans; apply; apply: leq_trans fits'; exact: above_le.
exists g => i w; have [u [r ->]] : exists (u : k.-tuple 'I_R) r, w = [tuple of rcons u r].
  case: w => s; case/lastP: s => [|u r] // size_w; have size_u : size u == k by rewrite -eqSS -(size_rcons u r).
  by exists (Tuple size_u), r; apply/val_inj.
rewrite /follow foldl_rcons -/(follow g u (root i)); have here : follow g u (root i) = node m i u :> nat.
  by rewrite walk ?size_tuple.
have := node_level R0 u (ltn_ord i); rewrite size_tuple -here -/I => /andP[high _].
rewrite !ffunE ltnNge high /=; case: pickP => [a|/(_ (y i [tuple of rcons u r]))/negbT/negP[]] /=; last first.
  by apply/existsP; exists i; apply/existsP; exists u; rewrite here !eqxx.
case/existsP=> i' /existsP[u' /andP[/eqP same /eqP <-]]; rewrite here in same.
have [|/val_inj-> /val_inj-> //] := node_inj _ same; by rewrite !size_tuple.
Qed.

(** Bits that determine the answers of the roots, q values that may occur, are as many as vectors of answers. *)
Lemma vectors_told (q : nat) (value : 'I_q -> 'I_N) (bits : finType)
    (decode : bits -> 'I_m -> k.+1.-tuple 'I_R -> option 'I_q) :
    (forall g : fact_system N R, exists bt, forall i (w : k.+1.-tuple 'I_R) j,
       value j = follow g w (root i) -> decode bt i w = Some j) ->
  q ^ (m * R ^ k.+1) <= #|bits|.
Proof.
move=> answers; pose choice := {ffun 'I_m * k.+1.-tuple 'I_R -> 'I_q}.
have told (c : choice) : exists bt, [forall i, forall w, decode bt i w == Some (c (i, w))].
  have [g g_c] := every_vector (fun i w => value (c (i, w))); have [bt bt_g] := answers g; exists bt.
  by apply/forallP=> i; apply/forallP=> w; rewrite (bt_g _ _ (c (i, w))) // g_c.
pose bt c := xchoose (told c); have bt_inj : injective bt.
  move=> c c' same; apply/ffunP=> -[i w]; apply/Some_inj; move: (xchooseP (told c)) (xchooseP (told c')).
  by rewrite -/(bt c) -/(bt c') same => /forallP/(_ i)/forallP/(_ w)/eqP<- /forallP/(_ i)/forallP/(_ w)/eqP<-.
by have := leq_card _ bt_inj; rewrite card_ffun card_prod card_tuple !card_ord.
Qed.
End Maps.

(** The value of the largest score, if there is one. *)
Definition largest (F : realFieldType) (q : nat) (score : 'I_q -> F) : option 'I_q :=
  [pick j | [forall j', (j' != j) ==> (score j' < score j)%R]].

Lemma largestP (F : realFieldType) (q : nat) (score : 'I_q -> F) j :
  (forall j', j' != j -> (score j' < score j)%R) -> largest score = Some j.
Proof.
move=> best; rewrite /largest; case: pickP => [j'' /forallP wins|/(_ j)/negbT/negP[]]; last first.
  by apply/forallP=> j'; apply/implyP/best.
congr Some; apply/eqP; apply: contraT => differ; have /implyP := wins j; rewrite eq_sym differ => /(_ isT).
by move/lt_trans/(_ (best _ differ)); rewrite ltxx.
Qed.

(** ** The theorems, for k >= 1 hops *)

(** The answers of m subjects are any vector of values. *)
Theorem T10_every_vector (N R k m : nat) : (1 <= R)%N -> (1 <= k)%N -> (m * (\sum_(i < k) R ^ i) <= N)%N ->
  exists root : 'I_m -> 'I_N, injective root /\ forall y : 'I_m -> k.-tuple 'I_R -> 'I_N,
    exists g : fact_system N R, forall i (w : k.-tuple 'I_R), follow g w (root i) = y i w.
Proof.
case: k => // k R1 _ fits; exists (root fits); split; last exact: every_vector.
by move=> i j /(congr1 val) /= same; apply/val_inj.
Qed.

Section Transformers.
Local Open Scope ring_scope.
Variables (F : realFieldType) (N R d b k : nat) (value : 'I_d -> 'I_(2 ^ b) -> F).
Hypotheses (R1 : (1 <= R)%N) (k1 : (1 <= k)%N).

(** A fixed read-out: [frame] is everything but the subject rows, chosen by B bits. *)
Theorem T10_fixed (B m : nat) (frame : 'I_(2 ^ B) -> transformer F N R N d) : (m * (\sum_(i < k) R ^ i) <= N)%N ->
    (forall g : fact_system N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_subjects (frame others) (subjects value rows)) k g) ->
  (N ^ (m * R ^ k) <= 2 ^ (B + m * d * b))%N.
Proof.
case: k k1 => // h _ fits answers; pose bits := ({ffun 'I_m -> row_bits d b} * 'I_(2 ^ B))%type.
have := @vectors_told N R h m R1 fits N id [finType of bits]
  (fun bt i w => read value (frame bt.2) (root fits i) (bt.1 i) w).
rewrite card_prod card_ffun card_row_bits !card_ord -expnM -expnD => told.
rewrite (_ : B + m * d * b = d * b * m + B)%N; last by rewrite addnC -mulnA [(m * _)%N]mulnC.
apply: told => g; have [others [rows right]] := answers g.
exists ([ffun i => rows (root fits i)], others) => i w j ->.
by rewrite /= ffunE (read_right (root fits i) right).
Qed.

(** Universal: nothing but the subject rows depends on the facts. *)
Theorem T10_universal (frame : transformer F N R N d) : (\sum_(i < k) R ^ i <= N)%N ->
    (forall g : fact_system N R, exists rows : 'I_N -> row_bits d b,
       answers_all (with_subjects frame (subjects value rows)) k g) ->
  (N ^ (R ^ k) <= 2 ^ (d * b))%N.
Proof.
move=> fits answers; rewrite -[(R ^ k)%N]mul1n -[(d * b)%N]add0n -[d in (_ + d * b)%N]mul1n.
by apply: (@T10_fixed 0 1 (fun=> frame)) => [|g]; [rewrite mul1n | exists ord0; apply: answers].
Qed.

(** What M subjects and q answers are told apart by, if the logit of an answer depends on two rows and B bits. *)
Lemma scores_told (m q : nat) (bits : finType) (fits : (m * (\sum_(i < k.-1.+1) R ^ i) <= N)%N) (place : 'I_q -> 'I_N)
    (score : bits -> 'I_m -> k.-1.+1.-tuple 'I_R -> 'I_q -> F) : injective place ->
    (forall g : fact_system N R, exists bt, forall i (w : k.-1.+1.-tuple 'I_R) a, a = follow g w (root fits i) ->
       forall j j', place j' = a -> j != j' -> score bt i w j < score bt i w j') ->
  (q ^ (m * R ^ k) <= #|bits|)%N.
Proof.
move=> place_inj answers; rewrite -[k in (R ^ k)%N](prednK k1).
apply: (@vectors_told N R k.-1 m R1 fits q place bits (fun bt i w => largest (score bt i w))) => g.
have [bt right] := answers g; exists bt => i w j is_answer; apply: largestP => j' differ.
exact: (right i w _ erefl _ _ is_answer differ).
Qed.

(** Learned: the subject table and the read-out may depend on the facts; [frame], the read-out's bias included, is chosen
    by B bits. *)
Theorem T10_learned (B m q : nat) (frame : 'I_(2 ^ B) -> transformer F N R N d) :
    (m * (\sum_(i < k) R ^ i) <= N)%N -> (q <= N)%N ->
    (forall g : fact_system N R, exists (others : 'I_(2 ^ B)) (rows answer_rows : 'I_N -> row_bits d b),
       answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows)) k g) ->
  (q ^ (m * R ^ k) <= 2 ^ (B + (m + q) * d * b))%N.
Proof.
case: k k1 scores_told => // h _ told fits q_N answers.
pose bits := ({ffun 'I_m -> row_bits d b} * {ffun 'I_q -> row_bits d b} * 'I_(2 ^ B))%type.
pose place : 'I_q -> 'I_N := widen_ord q_N; pose start : 'I_m -> 'I_N := root fits.
pose model (others : 'I_(2 ^ B)) rows answer_rows : transformer F N R N d :=
  with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows).
pose score (bt : bits) (i : 'I_m) (w : h.+1.-tuple 'I_R) (j : 'I_q) : F :=
  logits (model bt.2 (fun=> bt.1.1 i) (fun=> bt.1.2 j)) (prompt (start i) w) 0 (place j).
have place_inj : injective place by move=> i j /(congr1 val) /= same; apply/val_inj.
have := told m q [finType of bits] fits place score place_inj.
rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD {}/told => told.
rewrite (_ : B + (m + q) * d * b = b * (d * m) + b * (d * q) + B)%N; last by lia.
apply: told => g; have [others [rows [answer_rows right]]] := answers g.
exists ([ffun i => rows (start i)], [ffun j => answer_rows (place j)], others) => i w a -> j j' is_answer differ.
have seen l : score ([ffun i => rows (start i)], [ffun j => answer_rows (place j)], others) i w l =
    logits (model others rows answer_rows) (prompt (start i) w) 0 (place l).
  by rewrite /score /=; apply: logit_rows; [apply/rowP=> c | apply/colP=> c]; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: right; rewrite -is_answer.
by apply: contra differ => /eqP/place_inj ->.
Qed.

(** Tied: the rows of the read-out are the subject rows. *)
Theorem T10_tied (B m : nat) (frame : 'I_(2 ^ B) -> transformer F N R N d) : (m * (\sum_(i < k) R ^ i) <= N)%N ->
    (forall g : fact_system N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value rows)) k g) ->
  (m ^ (m * R ^ k) <= 2 ^ (B + m * d * b))%N.
Proof.
case: k k1 scores_told => // h _ told fits answers.
pose bits := ({ffun 'I_m -> row_bits d b} * 'I_(2 ^ B))%type; pose start : 'I_m -> 'I_N := root fits.
pose model (others : 'I_(2 ^ B)) rows answer_rows : transformer F N R N d :=
  with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows).
pose score (bt : bits) (i : 'I_m) (w : h.+1.-tuple 'I_R) (j : 'I_m) : F :=
  logits (model bt.2 (fun=> bt.1 i) (fun=> bt.1 j)) (prompt (start i) w) 0 (start j).
have start_inj : injective start by move=> i j /(congr1 val) /= same; apply/val_inj.
have := told m m [finType of bits] fits start score start_inj.
rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD {}/told => told.
rewrite (_ : B + m * d * b = b * (d * m) + B)%N; last by lia.
apply: told => g; have [others [rows right]] := answers g.
exists ([ffun i => rows (start i)], others) => i w a -> j j' is_answer differ.
have seen l : score ([ffun i => rows (start i)], others) i w l =
    logits (model others rows rows) (prompt (start i) w) 0 (start l).
  by rewrite /score /=; apply: logit_rows; [apply/rowP=> c | apply/colP=> c]; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: right; rewrite -is_answer.
by apply: contra differ => /eqP/start_inj ->.
Qed.
End Transformers.

(** T2 meets the bound: for N = 2^p and b a divisor of p its dimension times b is R^k·log N exactly. *)
Theorem T10_no_gap (q b R k : nat) (g : nat -> nat -> nat) : (0 < b)%N ->
  ((2 ^ (b * q)) ^ (R ^ k) = 2 ^ (dimension (t2 (2 ^ (b * q)) R k b g) * b))%N.
Proof.
move=> b0; rewrite -expnM; congr (2 ^ _)%N; rewrite /= /code_digits /code_bits up_expnK //.
by rewrite [(b * q)%N]mulnC divnMDl // divn_small ?addn0; lia.
Qed.

(** The inequalities as [bounds.lower.maps] computes them. *)
Definition t10_universal_bound (N R k : nat) := {| rows := 1; shared := 0; terms := [:: Term (R ^ k) N 1] |}.
Definition t10_fixed_bound (N R k m : nat) := {| rows := m; shared := 1; terms := [:: Term (m * R ^ k) N 1] |}.
Definition t10_learned_bound (R k m q : nat) := {| rows := m + q; shared := 1; terms := [:: Term (m * R ^ k) q 1] |}.
Definition t10_tied_bound (R k m : nat) := {| rows := m; shared := 1; terms := [:: Term (m * R ^ k) m 1] |}.

Theorem T10_numbers (N R k m q d b B : nat) :
  [/\ holds (t10_universal_bound N R k) d b 0 = (N ^ (R ^ k) <= 2 ^ (d * b)),
      holds (t10_fixed_bound N R k m) d b B = (N ^ (m * R ^ k) <= 2 ^ (B + m * d * b)),
      holds (t10_learned_bound R k m q) d b B = (q ^ (m * R ^ k) <= 2 ^ (B + (m + q) * d * b)) &
      holds (t10_tied_bound R k m) d b B = (m ^ (m * R ^ k) <= 2 ^ (B + m * d * b))].
Proof. by split; rewrite /holds count1 /= ffactn1 mul1n ?muln0 ?addn0 ?mul1n // addnC. Qed.

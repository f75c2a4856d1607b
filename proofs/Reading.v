(** * Reading a prompt in one pass ([constructions/weights/prompt_reading.py]): head 0 reads the subject, head i
    relation r_i.

    Positions cost no coordinates: place t and height -t² stand where relation tokens are zero, and at position 0 a
    height so low that its own entries there, at most V in absolute value, do not matter. With hardmax attention every
    head attends to its position alone ([reads]), so that the last position receives the subject's row and what the
    value maps make of the relation codes ([attended_reading], [logits_reading]). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Words.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The formulas *)

Section Formulas.
Variables (R k d largest : nat).

(** Is a place needed, or does the height do? *)
Definition placed : bool := (1 < R)%N && (1 < k)%N.
Definition reading_heads : nat := if (1 < R)%N then k.+1 else 1%N.

Definition reading_position (t j : nat) : int :=
  if (j == d.-1)%N then if t is 0 then - (k ^ 2 + 2 * k.+1 * largest + 1)%N%:Z else - (t ^ 2)%N%:Z
  else if placed && (j == d.-2)%N then t%:Z else 0.

Definition reading_query (h i c : nat) : int :=
  if (i == d.-1)%N then
    if h is 0 then (if c == 1%N then 1 else 0)
    else if c == 1%N then -1 else if placed then - (2 * h)%N%:Z else 0
  else 0.

Definition reading_key (h i c : nat) : int :=
  if (i == d.-1)%N then (if c == 1%N then 1 else 0)
  else if placed && (i == d.-2)%N && (c == 0%N) then 1 else 0.

(** Head 0 copies the first [entries] coordinates of the subject; head i + 1 writes [gate i v j] times coordinate v of
    its relation's code on coordinate j. *)
Definition reading_layer (first entries w : nat) (gate : nat -> nat -> nat -> int) W_in b_in W_out : layer :=
  {| n_heads := reading_heads; n_query := 2; n_value := entries; n_width := w;
     fQ := reading_query; fK := reading_key;
     fV := fun h i v => if (i == v)%N && ((h == 0)%N || (v < columns R first)%N) then 1 else 0;
     fO := fun h v j => if h is h'.+1 then if (v < columns R first)%N && (j < entries)%N then gate h' v j else 0
                        else if (v == j)%N then 1 else 0;
     fin := W_in; fbin := b_in; fout := W_out; fbout := fun=> 0 |}.

(** The coordinates that relation tokens need. *)
Definition coordinates_needed (first : nat) : nat := (columns R first + placed + 1)%N.
End Formulas.

(** ** What is read *)

Lemma token_subject N R k (x : 'I_N) (w : k.-tuple 'I_R) : token_at (prompt x w) 0 = x.
Proof. by []. Qed.

Lemma token_relation N R k (x : 'I_N) (w : k.-tuple 'I_R) t : (t < k)%N ->
  token_at (prompt x w) t.+1 = (N + nth 0 (numbers w) t)%N.
Proof.
move=> t_k; rewrite /token_at /= -map_comp /numbers.
case: w => w /= /eqP w_k; rewrite -{}w_k in t_k; elim: w t t_k => //= r w IH [|t] //= t_k; exact: IH.
Qed.

Section Reads.
Variables (F : realFieldType) (N R k : nat) (W : weights) (largest entries w : nat) (gate : nat -> nat -> nat -> int)
  (W_in : nat -> nat -> int) (b_in : nat -> int) (W_out : nat -> nat -> int).
Let d := dimension W.
Let L := reading_layer R k d 0 entries w gate W_in b_in W_out.
Let c := columns R 0.

Hypotheses (k1 : (0 < k)%N) (R1 : (0 < R)%N) (room : (coordinates_needed R k 0 <= d)%N) (c_entries : (c <= entries <= d)%N)
  (hard : attends W = Hardmax) (plain : adds W = false) (one : layers W = [:: L])
  (positionE : position W = reading_position R k d largest)
  (relationE : forall r j, relation W r j = code R 0 r j)
  (subject_small : forall x j, `|subject W x j| <= largest%:Z).

Variables (x : 'I_N) (ws : k.-tuple 'I_R).
Let st := stream_at W (prompt x ws).

Lemma st_subject j : st 0 j = subject W x j + reading_position R k d largest 0 j.
Proof. by rewrite /st /stream_at token_subject /start ltn_ord positionE. Qed.

Lemma st_relation t j : (t < k)%N -> st t.+1 j = code R 0 (nth 0%N (numbers ws) t) j + reading_position R k d largest t.+1 j.
Proof. by move=> t_k; rewrite /st /stream_at token_relation // /start ltnNge leq_addr /= addKn relationE positionE. Qed.

Let d0 : (0 < d)%N.
Proof. by apply: leq_trans room; rewrite /coordinates_needed addn1. Qed.

(** The height and the place at each position. *)
Lemma height0 : st 0 d.-1 <= largest%:Z - (k ^ 2 + 2 * k.+1 * largest + 1)%N%:Z.
Proof. rewrite st_subject /reading_position eqxx; have := subject_small x d.-1; lia. Qed.

Lemma height t : (0 < t <= k)%N -> st t d.-1 = - (t ^ 2)%N%:Z.
Proof.
case: t => // t /andP[_ t_k]; rewrite st_relation // /reading_position eqxx /code ifN ?add0r //.
by move: room; rewrite -leqNgt /coordinates_needed -/c; lia.
Qed.

Lemma place0 : placed R k -> `|st 0 d.-2| <= largest%:Z.
Proof.
move=> two; rewrite st_subject /reading_position two eqxx ifN ?addr0 ?subject_small //.
by move: room; rewrite /coordinates_needed two; lia.
Qed.

Lemma place t : placed R k -> (0 < t <= k)%N -> st t d.-2 = t.
Proof.
case: t => // t two /andP[_ t_k]; rewrite st_relation // /reading_position two eqxx ifN; last first.
  by move: room; rewrite /coordinates_needed two; lia.
by rewrite /code ifN ?add0r // -leqNgt; move: room; rewrite /coordinates_needed two -/c; lia.
Qed.

Lemma sum_at f i c0 : (i < d)%N -> (forall j, (j != i)%N -> f j = 0) -> f i = c0 -> \sum_(j < d) st k j * f j = st k i * c0.
Proof.
move=> i_d zero <-; rewrite (bigD1 (Ordinal i_d)) //= big1 ?addr0 // => j differ.
by rewrite zero ?mulr0.
Qed.

(** The score of a head, asked from the last position. *)
Lemma scoreE h s : score W L (st k) (st s) h =
  (k ^ 2)%N%:Z * (if h is 0 then - st s d.-1
                  else (if placed R k then (2 * h)%N%:Z * st s d.-2 else 0) + st s d.-1).
Proof.
have d1 : (d.-1 < d)%N by rewrite prednK.
have k_k : (0 < k <= k)%N by rewrite k1 leqnn.
have key1 : \sum_(i < d) st s i * reading_key R k d h i 1 = st s d.-1.
  rewrite (bigD1 (Ordinal d1)) //= big1 => [|j differ]; first by rewrite /reading_key eqxx mulr1 addr0.
  by rewrite /reading_key ifN // andbF mulr0.
have key0 : \sum_(i < d) st s i * reading_key R k d h i 0 = if placed R k then st s d.-2 else 0.
  case: ifP => two; last by rewrite big1 // => j _; rewrite /reading_key two; case: ifP; rewrite mulr0.
  have d2 : (d.-2 < d)%N by move: d1; lia.
  have d12 : d.-2 != d.-1 by move: room; rewrite /coordinates_needed two; lia.
  rewrite (bigD1 (Ordinal d2)) //= big1 => [|j differ].
    by rewrite /reading_key (negbTE d12) two !eqxx mulr1 addr0.
  by rewrite /reading_key two /= -[(j == d.-2 :> nat)%N]/(j == Ordinal d2) (negbTE differ) if_same mulr0.
have query c0 : \sum_(i < d) st k i * reading_query R k d h i c0 = - (k ^ 2)%N%:Z * reading_query R k d h d.-1 c0.
  rewrite -(height k_k) (bigD1 (Ordinal d1)) //= big1 ?addr0 // => j differ.
  by rewrite /reading_query ifN ?mulr0.
rewrite /score !big_ord_recl big_ord0 /= !query key0 key1 /reading_query eqxx.
by case: h {key0 key1 query} => [|h] /=; case: (placed R k); lia.
Qed.

(** Every head attends to its position alone. *)
Lemma reads h s : (h < reading_heads R k)%N -> (s <= k)%N -> s != h ->
  score W L (st k) (st s) h < score W L (st k) (st h) h.
Proof.
move=> h_heads s_k differ; rewrite !scoreE ltr_pmul2l; last by rewrite ltz_nat expn_gt0 k1.
case: h h_heads differ => [|h] h_heads differ.
  have := height0; rewrite ltr_opp2 (@height s); last by rewrite lt0n differ.
  by nia.
move: h_heads; rewrite /reading_heads; case: (ltnP 1 R) => // R2 h_k.
rewrite (@height h.+1) //; case: (ltnP 1 k) => k_small.
  have two : placed R k by rewrite /placed R2.
  rewrite two (@place h.+1) //; case: s s_k differ => [|s] s_k differ.
    by have := height0; have := place0 two; nia.
  by rewrite (@height s.+1) // (@place s.+1) //; nia.
have two : placed R k = false by rewrite /placed [(1 < k)%N]ltnNge k_small andbF.
have [h0 k_1] : h = 0%N /\ k = 1%N by lia.
rewrite two; case: s s_k differ => [|s] s_k differ; last by lia.
by have := height0; rewrite h0 k_1; nia.
Qed.

(** What the heads hand on. *)
Definition attended_reading (j : nat) : int :=
  if (j < entries)%N then
    subject W x j + reading_position R k d largest 0 j +
    \sum_(i < k) \sum_(v < c) code R 0 (nth 0%N (numbers ws) i) v * gate i v j
  else 0.

Lemma logits_reading A a : logits (over F N R A W) (prompt x ws) 0 a =
  (\sum_(j < d) mlp d L attended_reading j * unembed W j a + unbias W a)%:~R.
Proof.
rewrite (@logits_hardmax F (fun=> 0) N R A k W L one (prompt x ws) id hard) //; first last.
- by move=> h s h_L s_k; apply: reads.
- by move=> h; rewrite /= /reading_heads; case: ifP => _; lia.
rewrite -/st -/d; congr (_%:~R); congr (_ + _); apply: eq_bigr => j _; congr (_ * _); rewrite plain /= add0r.
have heads0 : (reading_heads R k == 0)%N = false by rewrite /reading_heads; case: ifP.
have [c_le e_d] := andP c_entries.
apply: eq_mlp => {}j; rewrite heads0 add0r /attended_reading.
have first_head : \sum_(v < entries) (\sum_(i < d) st 0 i * (if (i == v :> nat)%N && true then 1 else 0)) *
    (if (v == j :> nat)%N then 1 else 0) = if (j < entries)%N then st 0 j else 0.
  case: ltnP => [j_e|e_j]; last by rewrite big1 // => v _; rewrite ifN ?mulr0 // neq_ltn (leq_trans (ltn_ord v) e_j).
  rewrite (@sum_delta _ (fun v => \sum_(i < d) st 0 i * (if (i == v :> nat)%N && true then 1 else 0))) // mulr1.
  by rewrite (eq_bigr (fun i : 'I_d => st 0 i * (if (i == j :> nat)%N then 1 else 0))) => [|i _];
    rewrite ?andbT ?sum_delta ?mulr1.
have other_head h : (h < k)%N -> \sum_(v < entries) (\sum_(i < d) st h.+1 i *
      (if (i == v :> nat)%N && (v < c)%N then 1 else 0)) * (if (v < c)%N && (j < entries)%N then gate h v j else 0) =
    if (j < entries)%N then \sum_(v < c) code R 0 (nth 0%N (numbers ws) h) v * gate h v j else 0.
  move=> h_k; case: (ltnP j entries) => j_e; last by rewrite big1 // => v _; rewrite andbF mulr0.
  rewrite (big_ord_widen _ (fun v => code R 0 (nth 0%N (numbers ws) h) v * gate h v j) c_le) [RHS]big_mkcond /=.
  apply: eq_bigr => v _; rewrite andbT; case: ifP => v_c; last by rewrite mulr0.
  congr (_ * _); rewrite (eq_bigr (fun i : 'I_d => st h.+1 i * (if (i == v :> nat)%N then 1 else 0))) => [|i _];
    rewrite ?andbT // sum_delta ?mulr1; last by rewrite (leq_trans (ltn_ord v)).
  rewrite st_relation // /reading_position ifN ?ifN ?addr0 //.
    by case two: (placed R k) => //=; move: room; rewrite /coordinates_needed two -/c; lia.
  by move: room; rewrite /coordinates_needed -/c; lia.
rewrite /reading_heads; case: (ltnP 1 R) => R2.
  rewrite big_ord_recl /= first_head (eq_bigr (fun i : 'I_k => if (j < entries)%N then
    \sum_(v < c) code R 0 (nth 0%N (numbers ws) i) v * gate i v j else 0)) => [|i _]; last by rewrite /= other_head.
  by case: ifP => _; [rewrite st_subject | rewrite big1 // addr0].
rewrite big_ord1 /= first_head; case: ifP => // _; rewrite st_subject; have c0 : c = 0%N by rewrite /c /columns; lia.
by rewrite [\sum_(i < k) _]big1 ?addr0 // => i _; rewrite c0 big_ord0.
Qed.
End Reads.

(** * T2e. Learned or tied read-out, lower bound for an odd number of hops.

    A model without chain of thought whose logit of a on (x, w) depends on the facts through the row of x, the
    read-out's row of a (d numbers of b bits each) and B other bits. If it answers all queries of k = 2f+1 hops of every
    fact system, then for M·(1 + 2(R + .. + R^f)) <= N: 2^(B + 2M·d·b) >= (M!)^(R^(f+1)), and with a tied read-out 2^(B
    + M·d·b) >= (M!)^(R^(f+1)). Idea: M entities are roots of trees of depth f, forward and backward; relation r sends
    the forward leaf (i, w) to the backward leaf (σ_rw(i), w), the σ_rw in S_M free. The query (x_i, w r w) has the
    answer a_σ(i), the largest among M logits that M rows of each kind and B bits determine.

    Main theorems: [T2e_odd], [T2e_odd_tied], [T2e_odd_numbers]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Decode Bound Extend.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.

(** ** The fact systems *)

Section Systems.
Variables (N R f M : nat).

(** Words of length 1..f; the nodes are M roots, and a node for each root, side and word. *)
Let words := {t : 'I_f & t.+1.-tuple 'I_R}.
Let nodes := ('I_M * option (bool * words))%type.

Lemma card_words : #|{: words}| = \sum_(t < f) R ^ t.+1.
Proof. by rewrite card_tagged sumnE big_map big_enum; apply: eq_bigr => t _; rewrite card_tuple card_ord. Qed.

Hypothesis fits : M * (1 + 2 * \sum_(t < f) R ^ t.+1) <= N.

Lemma nodes_fit : #|{: nodes}| <= N.
Proof. by rewrite card_prod card_option card_prod card_bool card_words card_ord -add1n. Qed.

Let place (v : nodes) : 'I_N := widen_ord nodes_fit (enum_rank v).

Lemma place_inj : injective place.
Proof. by move=> u v /(congr1 val) /= /val_inj/enum_rank_inj. Qed.

(** The word u as a node: none for the empty one. *)
Let as_word (u : seq 'I_R) : option words :=
  if insub (size u).-1 is Some t then
    if insub u is Some w then Some (Tagged (fun t : 'I_f => t.+1.-tuple 'I_R) (w : (t : 'I_f).+1.-tuple 'I_R)) else None
  else None.

Definition node (side : bool) (i : 'I_M) (u : seq 'I_R) : 'I_N := place (i, omap (pair side) (as_word u)).

Definition entity (i : 'I_M) : 'I_N := place (i, None).

Lemma as_wordP (u : seq 'I_R) : 0 < size u <= f -> exists w, as_word u = Some w /\ tval (tagged w) = u.
Proof.
case/andP=> u0 u_f; rewrite /as_word; have t_f : (size u).-1 < f by rewrite prednK.
rewrite (insubT (fun t => t < f) t_f) /=; have u_t : size u == ((size u).-1).+1 by rewrite prednK.
by rewrite (insubT (fun s => size s == ((size u).-1).+1) u_t); eexists; split.
Qed.

Lemma as_word0 : as_word [::] = None.
Proof. by rewrite /as_word; case: insubP => // t _ _; case: insubP. Qed.

Lemma node0 side i : node side i [::] = entity i.
Proof. by rewrite /node as_word0. Qed.

Lemma node_inj side side' i i' u u' : size u <= f -> size u' <= f -> node side i u = node side' i' u' ->
  [/\ i = i', u = u' & u != [::] -> side = side'].
Proof.
move=> u_f u'_f /place_inj [-> same]; case: u u' u_f u'_f same => [|r u] [|r' u'] u_f u'_f.
- by [].
- by have [w [-> _]] := @as_wordP (r' :: u') u'_f; rewrite as_word0.
- by have [w [-> _]] := @as_wordP (r :: u) u_f; rewrite as_word0.
have [w [-> w_u]] := @as_wordP (r :: u) u_f; have [w' [-> w_u']] := @as_wordP (r' :: u') u'_f.
by case=> -> same; split=> //; rewrite -w_u -w_u' same.
Qed.

(** Where the edges of relation r start, and where the free choice sigma lets them end. *)
Let edges := ('I_M * {t : 'I_f.+1 & t.-tuple 'I_R} + 'I_M * {t : 'I_f & t.-tuple 'I_R})%type.
Let choice := {ffun 'I_R * f.-tuple 'I_R -> {perm 'I_M}}.

Definition source (r : 'I_R) (p : edges) : 'I_N :=
  match p with inl (i, u) => node false i (tagged u) | inr (i, v) => node true i (r :: tagged v) end.

Definition target (c : choice) (r : 'I_R) (p : edges) : 'I_N :=
  match p with
  | inl (i, u) => if insub (tagged u : seq 'I_R) is Some w then node true (c (r, w) i) (w : f.-tuple 'I_R)
                  else node false i (rcons (tagged u) r)
  | inr (i, v) => node true i (tagged v)
  end.

Lemma size_tagged_le (u : {t : 'I_f.+1 & t.-tuple 'I_R}) : size (tagged u) <= f.
Proof. by rewrite size_tuple -ltnS. Qed.

Lemma size_tagged_lt (v : {t : 'I_f & t.-tuple 'I_R}) : size (tagged v) < f.
Proof. by rewrite size_tuple. Qed.

Lemma tagged_word_inj n (u v : {t : 'I_n & t.-tuple 'I_R}) : tagged u = tagged v :> seq 'I_R -> u = v.
Proof.
case: u v => t u [t' v] /= same; have tt' : t = t' by apply/val_inj; rewrite /= -(size_tuple u) same size_tuple.
by case: t' / tt' v same => v same; congr (Tagged _ _); apply/val_inj.
Qed.

Lemma source_inj r : injective (source r).
Proof.
case=> [[i u]|[i v]] [[i' u']|[i' v']] /= /node_inj.
- by case; rewrite ?size_tagged_le // => -> /tagged_word_inj ->.
- by case; rewrite ?size_tagged_le ?size_tagged_lt // => _ -> /(_ isT).
- by case; rewrite ?size_tagged_le ?size_tagged_lt // => _ _ /(_ isT).
- by case; rewrite ?size_tagged_lt // => -> [] /tagged_word_inj ->.
Qed.

Lemma target_inj c r : injective (target c r).
Proof.
have short (u : {t : 'I_f.+1 & t.-tuple 'I_R}) : size (tagged u) != f -> size (rcons (tagged u) r) <= f.
  by rewrite size_rcons ltn_neqAle size_tagged_le andbT.
have ne (u : seq 'I_R) : rcons u r != [::] by case: u.
case=> [[i u]|[i v]] [[i' u']|[i' v']] /=.
- case: insubP => [w _ w_u|u_f]; case: insubP => [w' _ w_u'|u'_f].
  + case/node_inj; rewrite ?size_tuple // => same_i same_w _; move: same_i; have ww' : w = w' by apply/val_inj.
    rewrite ww' => /perm_inj ->; congr (inl (_, _)); apply: tagged_word_inj.
    by move: w_u w_u'; rewrite /= => <- <-; rewrite ww'.
  + by case/node_inj; rewrite ?(short _ u'_f) ?size_tuple // => _ -> /(_ (ne _)).
  + by case/node_inj; rewrite ?(short _ u_f) ?size_tuple // => _ _ /(_ (ne _)).
  + by case/node_inj; rewrite ?(short _ u_f) ?(short _ u'_f) // => -> /rcons_inj[/tagged_word_inj ->].
- case: insubP => [w _ w_u|u_f].
  + case/node_inj; rewrite ?(ltnW (size_tagged_lt v')) ?size_tuple // => _ same _.
    by have := size_tagged_lt v'; rewrite -same size_tuple ltnn.
  + by case/node_inj; rewrite ?(short _ u_f) ?(ltnW (size_tagged_lt v')) // => _ _ /(_ (ne _)).
- case: insubP => [w _ w_u|u_f].
  + case/node_inj; rewrite ?(ltnW (size_tagged_lt v)) ?size_tuple // => _ same _.
    by have := size_tagged_lt v; rewrite same size_tuple ltnn.
  + by case/node_inj; rewrite ?(short _ u_f) ?(ltnW (size_tagged_lt v)) // => _ -> /(_ (ne _)).
- by case/node_inj; rewrite ?(ltnW (size_tagged_lt _)) // => -> /tagged_word_inj ->.
Qed.

Lemma system (c : choice) : exists g : bijections N R, forall r p, g r (source r p) = target c r p.
Proof.
have extends r : exists s : {perm 'I_N}, [forall p, s (source r p) == target c r p].
  have [s s_edge] := perm_through (@source_inj r) (@target_inj c r).
  by exists s; apply/forallP=> p; rewrite s_edge.
exists [ffun r => xchoose (extends r)] => r p; rewrite ffunE.
exact/eqP/(forallP (xchooseP (extends r))).
Qed.

Section Walk.
Variables (c : choice) (g : bijections N R).
Hypothesis g_c : forall r p, g r (source r p) = target c r p.

Lemma forward i (u : seq 'I_R) : size u <= f -> follow g u (entity i) = node false i u.
Proof.
elim/last_ind: u => [|u r IH] u_f; first by rewrite node0.
rewrite size_rcons in u_f; rewrite /follow foldl_rcons -/(follow g u _) facts_ofE IH ?(ltnW u_f) //.
have t_f : size u < f.+1 by apply: ltnW.
have := g_c r (inl (i, Tagged (fun t : 'I_f.+1 => t.-tuple 'I_R) (in_tuple u : (Ordinal t_f).-tuple 'I_R))).
by rewrite /= => ->; rewrite insubN // neq_ltn u_f.
Qed.

Lemma backward j (v : seq 'I_R) : size v <= f -> follow g v (node true j v) = entity j.
Proof.
elim: v => [|r v IH] v_f; first by rewrite node0.
have := g_c r (inr (j, Tagged (fun t : 'I_f => t.-tuple 'I_R) (in_tuple v : (Ordinal v_f).-tuple 'I_R))).
by rewrite /= facts_ofE => ->; apply: IH; apply: ltnW.
Qed.

Lemma across i r (w : f.-tuple 'I_R) : follow g (w ++ r :: w) (entity i) = entity (c (r, w) i).
Proof.
rewrite /follow foldl_cat /= -/(follow g w (entity i)) forward ?size_tuple // -/(follow g w _).
have w_f : size w == f by rewrite size_tuple.
have := g_c r (inl (i, Tagged (fun t : 'I_f.+1 => t.-tuple 'I_R) (w : (ord_max : 'I_f.+1).-tuple 'I_R))).
rewrite /= facts_ofE => ->; rewrite (insubT (fun s : seq 'I_R => size s == f) w_f) /=.
by rewrite (_ : Tuple w_f = w) ?backward ?size_tuple //; apply/val_inj.
Qed.
End Walk.

(** Bits that determine scores which tell the answers among the M entities determine the choice. *)
Lemma choices_told (F : realFieldType) (bits : finType) (score : bits -> 'I_M -> (f + f.+1).-tuple 'I_R -> 'I_M -> F) :
    (forall g : bijections N R, exists bt, forall i (w : (f + f.+1).-tuple 'I_R) j j', entity j' = follow g w (entity i) -> j != j' ->
       (score bt i w j < score bt i w j')%R) ->
  (M`! ^ (R ^ f.+1) <= #|bits|)%N.
Proof.
move=> answers.
pose asked r (w : f.-tuple 'I_R) : (f + f.+1).-tuple 'I_R := cat_tuple w (cons_tuple r w).
pose right (c : choice) bt := [forall i, forall r, forall w, forall j,
  (j != c (r, w) i) ==> (score bt i (asked r w) j < score bt i (asked r w) (c (r, w) i))%R].
have told c : exists bt, right c bt.
  have [g g_c] := system c; have [bt bt_g] := answers g; exists bt.
  apply/forallP=> i; apply/forallP=> r; apply/forallP=> w; apply/forallP=> j; apply/implyP=> differ.
  by apply: bt_g differ; rewrite -(across g_c).
pose bt c := xchoose (told c).
have bt_inj : injective bt.
  move=> c c' same; apply/ffunP=> -[r w]; apply/permP=> i; apply/eqP; apply: contraT => differ.
  have /forallP/(_ i)/forallP/(_ r)/forallP/(_ w)/forallP/(_ (c' (r, w) i))/implyP := xchooseP (told c).
  have /forallP/(_ i)/forallP/(_ r)/forallP/(_ w)/forallP/(_ (c (r, w) i))/implyP := xchooseP (told c').
  rewrite -/(bt c) -/(bt c') same differ eq_sym differ => /(_ isT) lt /(_ isT) /(lt_trans lt).
  by rewrite ltxx.
have := leq_card _ bt_inj; by rewrite card_ffun card_Sn card_prod card_tuple !card_ord -expnS.
Qed.
End Systems.

(** ** Transformers *)

Section Transformers.
Local Open Scope ring_scope.
Variables (F : realFieldType) (N R d b B f M : nat) (value : 'I_d -> 'I_(2 ^ b) -> F).
Variable frame : 'I_(2 ^ B) -> transformer F N R N d.
Hypothesis fits : (M * (1 + 2 * \sum_(t < f) R ^ t.+1) <= N)%N.

(** Learned: the subject table and the read-out may depend on the facts; [frame], the read-out's bias included, is chosen
    by B bits. *)
Theorem T2e_odd :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows answer_rows : 'I_N -> row_bits d b),
       answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows))
         (f + f.+1) g) ->
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + 2 * M * d * b))%N.
Proof.
move=> answers; pose bits := ({ffun 'I_M -> row_bits d b} * {ffun 'I_M -> row_bits d b} * 'I_(2 ^ B))%type.
pose score (bt : bits) (i : 'I_M) (w : (f + f.+1).-tuple 'I_R) (j : 'I_M) : F := logits (with_readout (with_subjects (frame bt.2) (subjects value (fun=> bt.1.1 i)))
  (readout value (fun=> bt.1.2 j))) (prompt (entity fits i) w) 0 (entity fits j).
have := @choices_told N R f M fits F [finType of bits] score.
rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD => told.
rewrite (_ : B + 2 * M * d * b = b * (d * M) + b * (d * M) + B)%N; last by lia.
apply: told => g; have [others [rows [answer_rows right]]] := answers g.
exists ([ffun i => rows (entity fits i)], [ffun j => answer_rows (entity fits j)], others) => i w j j' is_answer differ.
have seen l : score ([ffun i => rows (entity fits i)], [ffun j => answer_rows (entity fits j)], others) i w l =
    logits (with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows))
      (prompt (entity fits i) w) 0 (entity fits l).
  rewrite /score /=; apply: logit_rows; first by apply/rowP=> c; rewrite !mxE ffunE.
  by apply/colP=> c; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: right; rewrite -is_answer.
by apply: contra differ => /eqP/place_inj [->].
Qed.

(** Tied: the rows of the read-out are the subject rows. *)
Theorem T2e_odd_tied :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value rows)) (f + f.+1) g) ->
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + M * d * b))%N.
Proof.
move=> answers; pose bits := ({ffun 'I_M -> row_bits d b} * 'I_(2 ^ B))%type.
pose score (bt : bits) (i : 'I_M) (w : (f + f.+1).-tuple 'I_R) (j : 'I_M) : F := logits (with_readout (with_subjects (frame bt.2) (subjects value (fun=> bt.1 i)))
  (readout value (fun=> bt.1 j))) (prompt (entity fits i) w) 0 (entity fits j).
have := @choices_told N R f M fits F [finType of bits] score.
rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD => told.
rewrite (_ : B + M * d * b = b * (d * M) + B)%N; last by lia.
apply: told => g; have [others [rows right]] := answers g.
exists ([ffun i => rows (entity fits i)], others) => i w j j' is_answer differ.
have seen l : score ([ffun i => rows (entity fits i)], others) i w l =
    logits (with_readout (with_subjects (frame others) (subjects value rows)) (readout value rows))
      (prompt (entity fits i) w) 0 (entity fits l).
  rewrite /score /=; apply: logit_rows; first by apply/rowP=> c; rewrite !mxE ffunE.
  by apply/colP=> c; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: right; rewrite -is_answer.
by apply: contra differ => /eqP/place_inj [->].
Qed.
End Transformers.

(** The inequality as [bounds.learned_readout] computes it. *)
Definition t2e_odd_bound (R f M : nat) (tied : bool) : bound :=
  {| rows := if tied then M else 2 * M; shared := 1; terms := [:: Term (R ^ f.+1) M M] |}.

Theorem T2e_odd_numbers (R f M d b B : nat) (tied : bool) : holds (t2e_odd_bound R f M tied) d b B =
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + (if tied then M else 2 * M) * d * b)).
Proof. by rewrite /holds count1 /= ffactnn mul1n addnC. Qed.

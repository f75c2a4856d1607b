(** * T2e. Learned or tied read-out, lower bounds by full trees.

    A model without chain of thought whose logit of a on (x, w) depends on the facts through the row of x, the read-out's
    row of a (d numbers of b bits each) and B other bits. It answers all queries of k hops of every fact system of
    permutations. Odd k = 2f+1, M·(1 + 2(R + .. + R^f)) <= N: 2^(B + 2M·d·b) >= (M!)^(R^(f+1)). Even k = 2f+2, M = m·R,
    2m·(R + .. + R^(f+1)) <= N: 2^(B + (m+M)·d·b) >= (M!)^(R^(f+1)). With a tied read-out the rows of the M answers
    count alone. Idea: roots have forward trees of depth p, answers backward trees of depth f; the forward leaves (i, u)
    are numbered by an answer and a word v of length f, and relation r sends leaf (a, v) to the backward leaf (σ_rv(a),
    v), the σ_rv in S_M free. The query (x_i, u r v) has the answer σ_rv(a), the largest among M logits that the rows of
    roots and answers and B bits determine. The roots are among the answers: no edge leaves an answer, none enters a root.

    Main theorems: [T2e_odd], [T2e_odd_tied], [T2e_even], [T2e_even_tied], [T2e_odd_numbers], [T2e_even_numbers]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Decode Bound Extend.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.

(** ** Words as nodes *)

Section Words.
Variable R : nat.

(** Words of length 1..n. *)
Definition words (n : nat) := {t : 'I_n & t.+1.-tuple 'I_R}.

Lemma card_words n : #|{: words n}| = \sum_(t < n) R ^ t.+1.
Proof. by rewrite card_tagged sumnE big_map big_enum; apply: eq_bigr => t _; rewrite card_tuple card_ord. Qed.

(** The word u, if it is one of them. *)
Definition as_word (n : nat) (u : seq 'I_R) : option (words n) :=
  if insub (size u).-1 is Some t then
    if insub u is Some w then Some (Tagged (fun t : 'I_n => t.+1.-tuple 'I_R) (w : (t : 'I_n).+1.-tuple 'I_R)) else None
  else None.

Lemma as_wordP n (u : seq 'I_R) : 0 < size u <= n -> exists w, as_word n u = Some w /\ tval (tagged w) = u.
Proof.
case/andP=> u0 u_n; rewrite /as_word; have t_n : (size u).-1 < n by rewrite prednK.
rewrite (insubT (fun t => t < n) t_n) /=; have u_t : size u == ((size u).-1).+1 by rewrite prednK.
by rewrite (insubT (fun s => size s == ((size u).-1).+1) u_t); eexists; split.
Qed.

Lemma as_word0 n : as_word n [::] = None.
Proof. by rewrite /as_word; case: insubP => // t _ _; case: insubP. Qed.

Lemma tagged_word_inj n (u v : {t : 'I_n & t.-tuple 'I_R}) : tagged u = tagged v :> seq 'I_R -> u = v.
Proof.
case: u v => t u [t' v] /= same; have tt' : t = t' by apply/val_inj; rewrite /= -(size_tuple u) same size_tuple.
by case: t' / tt' v same => v same; congr (Tagged _ _); apply/val_inj.
Qed.

Lemma size_tagged n (u : {t : 'I_n & t.-tuple 'I_R}) : size (tagged u) < n.
Proof. by rewrite size_tuple. Qed.

Lemma size_tagged_le n (u : {t : 'I_n.+1 & t.-tuple 'I_R}) : size (tagged u) <= n.
Proof. by rewrite -ltnS size_tagged. Qed.

Lemma rcons_nil (u : seq 'I_R) r : rcons u r <> [::].
Proof. by case: u. Qed.
End Words.

(** ** The fact systems *)

Section Systems.
Variables (N R p f : nat) (roots answers : finType) (start : roots -> answers)
  (halve : roots -> p.-tuple 'I_R -> answers * f.-tuple 'I_R).
Hypotheses (start_inj : injective start) (halve_inj : forall i u i' u', halve i u = halve i' u' -> i = i' /\ u = u')
  (halve_onto : forall a v, exists i u, halve i u = (a, v))
  (fits : (#|answers| * (1 + \sum_(t < f) R ^ t.+1) + #|roots| * (\sum_(t < p) R ^ t.+1) <= N)%N).

(** A node for each answer, and for each word forward from a root or backward to an answer. *)
Let nodes := (answers + roots * words R p + answers * words R f)%type.

Lemma nodes_fit : #|{: nodes}| <= N.
Proof.
rewrite !card_sum !card_prod !card_words; apply: leq_trans fits; rewrite mulnDr muln1.
by rewrite -!addnA leq_add2l addnC.
Qed.

Let place (v : nodes) : 'I_N := widen_ord nodes_fit (enum_rank v).

Lemma place_inj : injective place.
Proof. by move=> u v /(congr1 val) /= /val_inj/enum_rank_inj. Qed.

Definition entity (a : answers) : 'I_N := place (inl (inl a)).
Definition fore (i : roots) (u : seq 'I_R) : 'I_N :=
  place (inl (if as_word p u is Some w then inr (i, w) else inl (start i))).
Definition back (a : answers) (v : seq 'I_R) : 'I_N :=
  place (if as_word f v is Some w then inr (a, w) else inl (inl a)).

Lemma entity_inj : injective entity.
Proof. by move=> a b /place_inj []. Qed.

Lemma fore0 i : fore i [::] = entity (start i).
Proof. by rewrite /fore as_word0. Qed.

Lemma back0 a : back a [::] = entity a.
Proof. by rewrite /back as_word0. Qed.

Lemma fore_inj i i' u u' : size u <= p -> size u' <= p -> fore i u = fore i' u' -> i = i' /\ u = u'.
Proof.
move=> u_p u'_p /place_inj []; case: u u' u_p u'_p => [|r u] [|r' u'] u_p u'_p.
- by rewrite !as_word0 => -[/start_inj].
- by have [w [-> _]] := @as_wordP R p (r' :: u') u'_p; rewrite as_word0.
- by have [w [-> _]] := @as_wordP R p (r :: u) u_p; rewrite as_word0.
have [w [-> w_u]] := @as_wordP R p (r :: u) u_p; have [w' [-> w_u']] := @as_wordP R p (r' :: u') u'_p.
by case=> -> same; split=> //; rewrite -w_u -w_u' same.
Qed.

Lemma back_inj a a' v v' : size v <= f -> size v' <= f -> back a v = back a' v' -> a = a' /\ v = v'.
Proof.
move=> v_f v'_f /place_inj; case: v v' v_f v'_f => [|r v] [|r' v'] v_f v'_f.
- by rewrite !as_word0 => -[].
- by have [w [-> _]] := @as_wordP R f (r' :: v') v'_f; rewrite as_word0.
- by have [w [-> _]] := @as_wordP R f (r :: v) v_f; rewrite as_word0.
have [w [-> w_v]] := @as_wordP R f (r :: v) v_f; have [w' [-> w_v']] := @as_wordP R f (r' :: v') v'_f.
by case=> -> same; split=> //; rewrite -w_v -w_v' same.
Qed.

Lemma fore_back i a u v : size u <= p -> size v <= f -> fore i u = back a v -> u = [::] /\ v = [::].
Proof.
move=> u_p v_f /place_inj; case: v v_f => [|r v] v_f; last by have [w [-> _]] := @as_wordP R f (r :: v) v_f.
rewrite as_word0; case: u u_p => [|r u] u_p //; by have [w [-> _]] := @as_wordP R p (r :: u) u_p.
Qed.

(** Where the edges of relation r start, and where the free choice lets them end. *)
Let edges := (roots * {t : 'I_p.+1 & t.-tuple 'I_R} + answers * {t : 'I_f & t.-tuple 'I_R})%type.
Let choice := {ffun 'I_R * f.-tuple 'I_R -> {perm answers}}.

Definition source (r : 'I_R) (e : edges) : 'I_N :=
  match e with inl (i, u) => fore i (tagged u) | inr (a, v) => back a (r :: tagged v) end.

Definition target (c : choice) (r : 'I_R) (e : edges) : 'I_N :=
  match e with
  | inl (i, u) => if insub (tagged u : seq 'I_R) is Some w then
                    let: (a, v) := halve i (w : p.-tuple 'I_R) in back (c (r, v) a) v
                  else fore i (rcons (tagged u) r)
  | inr (a, v) => back a (tagged v)
  end.

Lemma source_inj r : injective (source r).
Proof.
case=> [[i u]|[a v]] [[i' u']|[a' v']] /=.
- by case/fore_inj; rewrite ?size_tagged_le // => -> /tagged_word_inj ->.
- by case/fore_back; rewrite ?size_tagged_le //= size_tagged.
- by move/esym/fore_back; rewrite size_tagged_le /= size_tagged => /(_ isT isT) [].
- by case/back_inj; rewrite /= ?size_tagged // => -> [] /tagged_word_inj ->.
Qed.

Lemma target_inj c r : injective (target c r).
Proof.
have short (u : {t : 'I_p.+1 & t.-tuple 'I_R}) : size (tagged u) != p -> size (rcons (tagged u) r) <= p.
  by rewrite size_rcons ltn_neqAle size_tagged_le andbT.
have low (v : {t : 'I_f & t.-tuple 'I_R}) : size (tagged v) <= f by apply/ltnW/size_tagged.
case=> [[i u]|[a v]] [[i' u']|[a' v']] /=.
- case: insubP => [w _ w_u|u_p]; case: insubP => [w' _ w_u'|u'_p].
  + case e: (halve i w) => [a v]; case e': (halve i' w') => [a' v'] /back_inj.
    rewrite !size_tuple => /(_ (leqnn f) (leqnn f)).
    case=> same_a /val_inj same_v; move: e'; rewrite -{}same_v in same_a *; move/perm_inj: same_a => <-.
    rewrite -e => /halve_inj [-> same_w]; congr (inl (_, _)); apply: tagged_word_inj.
    by move: w_u w_u'; rewrite /= => <- <-; rewrite same_w.
  + case: (halve i w) => [a v] /esym/fore_back; rewrite (short _ u'_p) size_tuple => /(_ isT (leqnn f)) [].
    by move/rcons_nil.
  + by case: (halve i' w') => [a v] /fore_back; rewrite (short _ u_p) size_tuple => /(_ isT (leqnn f)) [/rcons_nil].
  + by case/fore_inj; rewrite ?(short _ u_p) ?(short _ u'_p) // => -> /rcons_inj[/tagged_word_inj ->].
- case: insubP => [w _ w_u|u_p].
  + case: (halve i w) => [a v] /back_inj; rewrite size_tuple low => /(_ (leqnn f) isT) [_ same].
    by have := size_tagged v'; rewrite -same size_tuple ltnn.
  + by move/fore_back; rewrite (short _ u_p) low => /(_ isT isT) [/rcons_nil].
- case: insubP => [w _ w_u|u_p].
  + case: (halve i' w) => [a' v'] /(back_inj (low v)); rewrite size_tuple => /(_ (leqnn f)) [_ same].
    by have := size_tagged v; rewrite same size_tuple ltnn.
  + by move/esym/fore_back; rewrite (short _ u_p) low => /(_ isT isT) [/rcons_nil].
- by case/back_inj; rewrite ?low // => -> /tagged_word_inj ->.
Qed.

Lemma system (c : choice) : exists g : bijections N R, forall r e, g r (source r e) = target c r e.
Proof.
have extends r : exists s : {perm 'I_N}, [forall e, s (source r e) == target c r e].
  have [s s_edge] := perm_through (@source_inj r) (@target_inj c r).
  by exists s; apply/forallP=> e; rewrite s_edge.
exists [ffun r => xchoose (extends r)] => r e; rewrite ffunE.
exact/eqP/(forallP (xchooseP (extends r))).
Qed.

Section Walk.
Variables (c : choice) (g : bijections N R).
Hypothesis g_c : forall r e, g r (source r e) = target c r e.

Lemma forward i (u : seq 'I_R) : size u <= p -> follow g u (entity (start i)) = fore i u.
Proof.
elim/last_ind: u => [|u r IH] u_p; first by rewrite fore0.
rewrite size_rcons in u_p; rewrite /follow foldl_rcons -/(follow g u _) facts_ofE IH ?(ltnW u_p) //.
have t_p : size u < p.+1 by apply: ltnW.
have := g_c r (inl (i, Tagged (fun t : 'I_p.+1 => t.-tuple 'I_R) (in_tuple u : (Ordinal t_p).-tuple 'I_R))).
by rewrite /= => ->; rewrite insubN // neq_ltn u_p.
Qed.

Lemma backward a (v : seq 'I_R) : size v <= f -> follow g v (back a v) = entity a.
Proof.
elim: v => [|r v IH] v_f; first by rewrite back0.
have := g_c r (inr (a, Tagged (fun t : 'I_f => t.-tuple 'I_R) (in_tuple v : (Ordinal v_f).-tuple 'I_R))).
by rewrite /= facts_ofE => ->; apply: IH; apply: ltnW.
Qed.

Lemma across i (u : p.-tuple 'I_R) r a (v : f.-tuple 'I_R) : halve i u = (a, v) ->
  follow g (u ++ r :: v) (entity (start i)) = entity (c (r, v) a).
Proof.
move=> halves; rewrite /follow foldl_cat /= -/(follow g u _) forward ?size_tuple // -/(follow g v _).
have u_p : size u == p by rewrite size_tuple.
have := g_c r (inl (i, Tagged (fun t : 'I_p.+1 => t.-tuple 'I_R) (u : (ord_max : 'I_p.+1).-tuple 'I_R))).
rewrite /= facts_ofE => ->; rewrite (insubT (fun s : seq 'I_R => size s == p) u_p) /=.
by rewrite (_ : Tuple u_p = u) ?halves ?backward ?size_tuple //; apply/val_inj.
Qed.
End Walk.

Lemma card_perms : #|{: {perm answers}}| = #|answers|`!.
Proof. by rewrite -[in RHS]cardsT -card_perm; apply: eq_card => s; rewrite !inE; apply/esym/subsetP => x; rewrite inE. Qed.

(** Bits that determine scores which tell the answers apart determine the choice. *)
Lemma choices_told (F : realFieldType) (bits : finType)
    (score : bits -> roots -> (p + f.+1).-tuple 'I_R -> answers -> F) :
    (forall g : bijections N R, exists bt, forall i (w : (p + f.+1).-tuple 'I_R) a a',
       entity a' = follow g w (entity (start i)) -> a != a' -> (score bt i w a < score bt i w a')%R) ->
  (#|answers|`! ^ (R ^ f.+1) <= #|bits|)%N.
Proof.
move=> scored.
pose asked (u : p.-tuple 'I_R) r (v : f.-tuple 'I_R) : (p + f.+1).-tuple 'I_R := cat_tuple u (cons_tuple r v).
pose right (c : choice) bt := [forall i, forall u, forall r, forall a : answers, let: (b, v) := halve i u in
  (a != c (r, v) b) ==> (score bt i (asked u r v) a < score bt i (asked u r v) (c (r, v) b))%R].
have told c : exists bt, right c bt.
  have [g g_c] := system c; have [bt bt_g] := scored g; exists bt.
  apply/forallP=> i; apply/forallP=> u; apply/forallP=> r; apply/forallP=> a; case e: (halve i u) => [b v].
  by apply/implyP=> differ; apply: bt_g differ; rewrite -(across g_c r e).
pose bt c := xchoose (told c).
have bt_inj : injective bt.
  move=> c c' same; apply/ffunP=> -[r v]; apply/permP=> b; apply/eqP; apply: contraT => differ.
  have [i [u e]] := halve_onto b v.
  have /forallP/(_ i)/forallP/(_ u)/forallP/(_ r)/forallP/(_ (c' (r, v) b)) := xchooseP (told c).
  have /forallP/(_ i)/forallP/(_ u)/forallP/(_ r)/forallP/(_ (c (r, v) b)) := xchooseP (told c').
  rewrite e -/(bt c) -/(bt c') same differ eq_sym differ /= => lt /(lt_trans lt).
  by rewrite ltxx.
by have := leq_card _ bt_inj; rewrite card_ffun card_perms card_prod card_tuple !card_ord -expnS.
Qed.

(** *** Transformers *)

Section Transformers.
Local Open Scope ring_scope.
Variables (F : realFieldType) (d b B : nat) (value : 'I_d -> 'I_(2 ^ b) -> F).
Variable frame : 'I_(2 ^ B) -> transformer F N R N d.

Let model others rows answer_rows : transformer F N R N d :=
  with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows).

Lemma learned_bound :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows answer_rows : 'I_N -> row_bits d b),
       answers_all (model others rows answer_rows) (p + f.+1) g) ->
  (#|answers|`! ^ (R ^ f.+1) <= 2 ^ (B + (#|roots| + #|answers|) * d * b))%N.
Proof.
move=> right; pose bits := ({ffun roots -> row_bits d b} * {ffun answers -> row_bits d b} * 'I_(2 ^ B))%type.
pose score (bt : bits) (i : roots) (w : (p + f.+1).-tuple 'I_R) (a : answers) : F :=
  logits (model bt.2 (fun=> bt.1.1 i) (fun=> bt.1.2 a)) (prompt (entity (start i)) w) 0 (entity a).
have := @choices_told F [finType of bits] score; rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD => told.
rewrite (_ : B + (#|roots| + #|answers|) * d * b = b * (d * #|roots|) + b * (d * #|answers|) + B)%N; last by lia.
apply: told => g; have [others [rows [answer_rows all_right]]] := right g.
exists ([ffun i => rows (entity (start i))], [ffun a => answer_rows (entity a)], others) => i w a a' is_answer differ.
have seen l : score ([ffun i => rows (entity (start i))], [ffun a => answer_rows (entity a)], others) i w l =
    logits (model others rows answer_rows) (prompt (entity (start i)) w) 0 (entity l).
  by rewrite /score /=; apply: logit_rows; [apply/rowP=> c | apply/colP=> c]; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: all_right; rewrite -is_answer.
by apply: contra differ => /eqP/entity_inj ->.
Qed.

Lemma tied_bound :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (model others rows rows) (p + f.+1) g) ->
  (#|answers|`! ^ (R ^ f.+1) <= 2 ^ (B + #|answers| * d * b))%N.
Proof.
move=> right; pose bits := ({ffun answers -> row_bits d b} * 'I_(2 ^ B))%type.
pose score (bt : bits) (i : roots) (w : (p + f.+1).-tuple 'I_R) (a : answers) : F :=
  logits (model bt.2 (fun=> bt.1 (start i)) (fun=> bt.1 a)) (prompt (entity (start i)) w) 0 (entity a).
have := @choices_told F [finType of bits] score; rewrite !card_prod !card_ffun !card_ord -!expnM -!expnD => told.
rewrite (_ : B + #|answers| * d * b = b * (d * #|answers|) + B)%N; last by lia.
apply: told => g; have [others [rows all_right]] := right g.
exists ([ffun a => rows (entity a)], others) => i w a a' is_answer differ.
have seen l : score ([ffun a => rows (entity a)], others) i w l =
    logits (model others rows rows) (prompt (entity (start i)) w) 0 (entity l).
  by rewrite /score /=; apply: logit_rows; [apply/rowP=> c | apply/colP=> c]; rewrite !mxE ffunE.
rewrite !seen is_answer; apply: all_right; rewrite -is_answer.
by apply: contra differ => /eqP/entity_inj ->.
Qed.
End Transformers.
End Systems.

(** ** The theorems *)

Section Theorems.
Local Open Scope ring_scope.
Variables (F : realFieldType) (N R d b B f : nat) (value : 'I_d -> 'I_(2 ^ b) -> F).
Variable frame : 'I_(2 ^ B) -> transformer F N R N d.

(** Learned: the subject table and the read-out may depend on the facts; [frame], the read-out's bias included, is
    chosen by B bits. *)
Definition learned_answers_all (k : nat) : Prop :=
  forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows answer_rows : 'I_N -> row_bits d b),
    answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value answer_rows)) k g.

(** Tied: the rows of the read-out are the subject rows. *)
Definition tied_answers_all (k : nat) : Prop :=
  forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
    answers_all (with_readout (with_subjects (frame others) (subjects value rows)) (readout value rows)) k g.

(** An odd number of hops: each leaf is a root, which is an answer, and a word. *)
Let odd_halves (M : nat) (i : 'I_M) (u : f.-tuple 'I_R) := (i, u).

Lemma odd_halves_inj M (i : 'I_M) u i' u' : odd_halves i u = odd_halves i' u' -> i = i' /\ u = u'.
Proof. by case=> -> ->. Qed.

Lemma odd_halves_onto M (a : 'I_M) v : exists i u, odd_halves i u = (a, v).
Proof. by exists a, v. Qed.

Lemma odd_fits M : (M * (1 + 2 * (\sum_(t < f) R ^ t.+1)) <= N)%N ->
  (#|'I_M| * (1 + \sum_(t < f) R ^ t.+1) + #|'I_M| * (\sum_(t < f) R ^ t.+1) <= N)%N.
Proof. by rewrite card_ord; apply: leq_trans; rewrite -mulnDr; lia. Qed.

Theorem T2e_odd (M : nat) : (M * (1 + 2 * (\sum_(t < f) R ^ t.+1)) <= N)%N -> learned_answers_all (f + f.+1) ->
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + 2 * M * d * b))%N.
Proof.
move=> fits right; have := learned_bound (@inj_id _) (@odd_halves_inj M) (@odd_halves_onto M) (odd_fits fits) right.
by rewrite card_ord addnn mul2n.
Qed.

Theorem T2e_odd_tied (M : nat) : (M * (1 + 2 * (\sum_(t < f) R ^ t.+1)) <= N)%N -> tied_answers_all (f + f.+1) ->
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + M * d * b))%N.
Proof.
move=> fits right; have := tied_bound (@inj_id _) (@odd_halves_inj M) (@odd_halves_onto M) (odd_fits fits) right.
by rewrite card_ord.
Qed.

(** An even number: an answer is a root and a relation; a leaf is a root, the first letter of its word, and the rest. *)
Let even_halves (m : nat) (i : 'I_m) (u : f.+1.-tuple 'I_R) := ((i, thead u), [tuple of behead u]).

Lemma even_halves_inj m (i : 'I_m) u i' u' : even_halves i u = even_halves i' u' -> i = i' /\ u = u'.
Proof.
case/tupleP: u => r v; case/tupleP: u' => r' v'; rewrite /even_halves !theadE.
move=> /(congr1 (fun h => (h.1.1, (h.1.2, tval h.2)))) /= [-> -> same].
by split=> //; apply/val_inj; rewrite /= same.
Qed.

Lemma even_halves_onto m (a : 'I_m * 'I_R) v : exists i u, even_halves i u = (a, v).
Proof.
by case: a => i r; exists i, [tuple of r :: v]; rewrite /even_halves theadE; congr (_, _); apply/val_inj.
Qed.

Lemma even_start_inj m (r : 'I_R) : injective (fun i : 'I_m => (i, r)).
Proof. by move=> i j []. Qed.

Lemma even_fits m : (2 * m * (\sum_(t < f.+1) R ^ t.+1) <= N)%N ->
  (#|[finType of 'I_m * 'I_R]| * (1 + \sum_(t < f) R ^ t.+1) + #|'I_m| * (\sum_(t < f.+1) R ^ t.+1) <= N)%N.
Proof.
have next : (R * (1 + \sum_(t < f) R ^ t.+1) = \sum_(t < f.+1) R ^ t.+1)%N.
  by rewrite [RHS]big_ord_recl expn1 mulnDr muln1 big_distrr.
by rewrite card_prod !card_ord -[(m * R * _)%N]mulnA next addnn -mul2n mulnA.
Qed.

Theorem T2e_even (m : nat) : (1 <= R)%N -> (2 * m * (\sum_(t < f.+1) R ^ t.+1) <= N)%N ->
    learned_answers_all (f.+1 + f.+1) ->
  ((m * R)`! ^ (R ^ f.+1) <= 2 ^ (B + (m + m * R) * d * b))%N.
Proof.
move=> R1 fits right; have := learned_bound (@even_start_inj m (Ordinal R1)) (@even_halves_inj m) (@even_halves_onto m)
  (even_fits fits) right.
by rewrite card_prod !card_ord.
Qed.

Theorem T2e_even_tied (m : nat) : (1 <= R)%N -> (2 * m * (\sum_(t < f.+1) R ^ t.+1) <= N)%N ->
    tied_answers_all (f.+1 + f.+1) ->
  ((m * R)`! ^ (R ^ f.+1) <= 2 ^ (B + m * R * d * b))%N.
Proof.
move=> R1 fits right; have := tied_bound (@even_start_inj m (Ordinal R1)) (@even_halves_inj m) (@even_halves_onto m)
  (even_fits fits) right.
by rewrite card_prod !card_ord.
Qed.
End Theorems.

(** The inequalities as [bounds.lower.learned_readout] computes them. *)
Definition t2e_odd_bound (R f M : nat) (tied : bool) : bound :=
  {| rows := if tied then M else 2 * M; shared := 1; terms := [:: Term (R ^ f.+1) M M] |}.
Definition t2e_even_bound (R f m : nat) (tied : bool) : bound :=
  {| rows := if tied then m * R else m + m * R; shared := 1; terms := [:: Term (R ^ f.+1) (m * R) (m * R)] |}.

Theorem T2e_odd_numbers (R f M d b B : nat) (tied : bool) : holds (t2e_odd_bound R f M tied) d b B =
  (M`! ^ (R ^ f.+1) <= 2 ^ (B + (if tied then M else 2 * M) * d * b)).
Proof. by rewrite /holds count1 /= ffactnn mul1n addnC. Qed.

Theorem T2e_even_numbers (R f m d b B : nat) (tied : bool) : holds (t2e_even_bound R f m tied) d b B =
  ((m * R)`! ^ (R ^ f.+1) <= 2 ^ (B + (if tied then m * R else m + m * R) * d * b)).
Proof. by rewrite /holds count1 /= ffactnn mul1n addnC. Qed.

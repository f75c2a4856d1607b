(** * T2c. Dichotomy, fixed read-out: trees.

    Any model without chain of thought whose answer to (x, w) depends on the facts through the row of x (d numbers of b
    bits) and B other bits only: transformers of any depth, attention, mask, residual setting and width are. If it
    answers all queries of k hops of every fact system, then for m >= 1 with m·(1 + R + .. + R^(k-1)) <= N,
    I = m·(1 + .. + R^(k-2)) and n = m·R^(k-1): 2^(B + m·d·b) >= ((N-I)_n)^R. Idea: fix m disjoint trees of depth k-1;
    the edges out of their leaves are free, n injective choices among N-I entities for each of R relations, each is part
    of some fact system, and the m roots' answers tell them all apart.

    Main theorems: [T2c_trees], [T2c_trees_decoder], [T2c_trees_numbers]. Loops are in [T2cLoops]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Decode Bound Extend.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The nodes of m trees in breadth-first order: the roots are 0..m-1, and m + R·v + r is the child of v by relation r. *)
Section Nodes.
Variables (R m : nat).
Hypothesis R0 : 0 < R.

Definition child (v r : nat) : nat := m + R * v + r.
(** I = m·(1 + R + .. + R^(j-1)), the nodes of depth below j; m·R^j are at depth j. *)
Definition above (j : nat) : nat := m * \sum_(i < j) R ^ i.
Definition node (i : nat) (w : seq 'I_R) : nat := foldl (fun v (r : 'I_R) => child v r) i w.

Lemma aboveS j : above j.+1 = above j + m * R ^ j.
Proof. by rewrite /above big_ord_recr mulnDr. Qed.

Lemma above_next j : above j.+1 = m + R * above j.
Proof.
rewrite /above big_ord_recl expn0 mulnDr muln1 mulnCA; congr (_ + _ * _).
by rewrite big_distrr; apply: eq_bigr => i _; rewrite expnS.
Qed.

Lemma above_le j k : j <= k -> above j <= above k.
Proof. by move/subnKC<-; elim: (k - j) => [|e IH]; rewrite ?addn0 // addnS aboveS (leq_trans IH) ?leq_addr. Qed.

Lemma node_level i w : i < m -> above (size w) <= node i w < above (size w).+1.
Proof.
move=> i_m; elim/last_ind: w => [|w r IH]; first by rewrite aboveS /above big_ord0 muln0 muln1.
rewrite /node foldl_rcons -/(node i w) size_rcons !(above_next (size w)) (above_next (size w).+1) /child.
by have := ltn_ord r; case/andP: IH; nia.
Qed.

Lemma level_node j v : above j <= v < above j.+1 -> exists (i : 'I_m) (w : j.-tuple 'I_R), node i w = v.
Proof.
elim: j v => [|j IH] v.
  by rewrite aboveS /above big_ord0 muln0 muln1 => v_m; exists (Ordinal v_m), [tuple].
rewrite (above_next j.+1) [X in X <= _](above_next j) => /andP[low high].
have u_level : above j <= (v - m) %/ R < above j.+1 by rewrite leq_divRL // ltn_divLR // ![_ * R]mulnC; lia.
have [i [w w_u]] := IH _ u_level; exists i, [tuple of rcons w (Ordinal (ltn_pmod (v - m) R0))].
by rewrite /node foldl_rcons -/(node i w) w_u /child /=; have := divn_eq (v - m) R; lia.
Qed.
End Nodes.

Lemma follow_rcons N R (g : bijections N R) w r x : follow g (rcons w r) x = g r (follow g w x).
Proof. by rewrite /follow foldl_rcons facts_ofE. Qed.

(** With k.+1 hops, for any function that answers. *)
Lemma trees_decoder (N R d b B k m : nat)
    (decode : 'I_(2 ^ B) -> 'I_N -> row_bits d b -> k.+1.-tuple 'I_R -> option 'I_N) :
    (1 <= R)%N -> (m * (\sum_(i < k.+1) R ^ i) <= N)%N ->
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       forall x w, decode others x (rows x) w = Some (follow g w x)) ->
  (((N - m * (\sum_(i < k) R ^ i)) ^_ (m * R ^ k)) ^ R <= 2 ^ (B + m * d * b))%N.
Proof.
move=> R0 fits answers; rewrite -/(above R m k); set I := above R m k; set n := m * R ^ k.
rewrite -/(above R m k.+1) aboveS -/I -/n in fits.
have In : I + n = m + R * I by rewrite -above_next aboveS.
pose inside (r : 'I_R) (v : 'I_N) : 'I_N := insubd v (child R m v r).
have inside_val (r : 'I_R) (v : 'I_N) : v < I -> inside r v = child R m v r :> nat.
  by move=> v_I; rewrite val_insubd /child; have := ltn_ord r; case: ifP => //; nia.
pose tree : {set 'I_N} := [set v : 'I_N | v < I].
have inside_inj (r : 'I_R) : {in tree &, injective (inside r)}.
  by move=> u v; rewrite !inE => u_I v_I /(congr1 val); rewrite /= !inside_val // /child => e; apply/val_inj => /=; nia.
have I_N : I <= N by rewrite (leq_trans _ fits) ?leq_addr.
have tree_card : #|tree| = I.
  have widen_inj : injective (widen_ord I_N) by move=> u v /(congr1 val) /= e; apply/val_inj.
  rewrite -[RHS](card_ord I) -(card_imset _ widen_inj); apply: eq_card => v.
  rewrite !inE; apply/idP/imsetP => [v_I|[u _ ->]]; last exact: (ltn_ord u).
  by exists (Ordinal v_I) => //; apply/val_inj.
have outside_card (r : 'I_R) : N - I = #|~: (inside r @: tree)|.
  by rewrite cardsCs setCK card_ord (card_in_imset (inside_inj r)) tree_card.
pose outside (r : 'I_R) (j : 'I_(N - I)) : 'I_N := enum_val (cast_ord (outside_card r) j).
have outside_inj (r : 'I_R) : injective (outside r) by move=> i j /enum_val_inj/cast_ord_inj.
have apart (r : 'I_R) j v : v \in tree -> inside r v != outside r j.
  move=> v_in; have := enum_valP (cast_ord (outside_card r) j); rewrite inE -/(outside r j).
  by apply: contra => /eqP<-; apply: imset_f.
pose choice := {ffun 'I_R -> {ffun 'I_n -> 'I_(N - I)}}.
pose fits_in (c : choice) := [forall r, injectiveb (c r)].
pose edge (c : choice) (r : 'I_R) (v : 'I_N) : 'I_N :=
  if v < I then inside r v else if insub (v - I) is Some l then outside r (c r l) else v.
have every (c : choice) : fits_in c -> exists g : bijections N R, forall r (v : 'I_N), v < I + n -> g r v = edge c r v.
  move/forallP=> c_inj.
  have extends r : exists s : {perm 'I_N}, [forall v : 'I_N, (v < I + n) ==> (s v == edge c r v)].
    have [|s s_edge] := @extend_to_perm _ [set v : 'I_N | v < I + n] (edge c r); last first.
      by exists s; apply/forallP=> v; apply/implyP=> v_in; rewrite s_edge ?inE.
    move=> u v; rewrite !inE /edge => u_in v_in.
    case: (ltnP u I) => [u_I|I_u]; case: (ltnP v I) => [v_I|I_v].
    - by apply: inside_inj; rewrite inE.
    - by case: insubP => [l _ _ e|]; [have := apart r (c r l) u; rewrite inE e eqxx => /(_ u_I)|lia].
    - by case: insubP => [l _ _ e|]; [have := apart r (c r l) v; rewrite inE -e eqxx => /(_ v_I)|lia].
    - case: insubP => [l _ l_u|]; last by lia.
      case: insubP => [l' _ l_v|]; last by lia.
      move/outside_inj/(injectiveP _ (c_inj r))=> e; apply/val_inj => /=.
      by move: l_u l_v; rewrite e /=; lia.
  exists [ffun r => xchoose (extends r)] => r v v_in; rewrite ffunE.
  by have /forallP/(_ v) := xchooseP (extends r); rewrite v_in => /eqP.
have m_N : m <= N by nia.
pose root (i : 'I_m) : 'I_N := widen_ord m_N i.
pose bits_type := ({ffun 'I_m -> {ffun 'I_d -> 'I_(2 ^ b)}} * 'I_(2 ^ B))%type.
pose right (c : choice) (bits : bits_type) (g : bijections N R) :=
  [forall r, forall v : 'I_N, (v < I + n) ==> (g r v == edge c r v)] &&
  [forall i, forall w, decode bits.2 (root i) (bits.1 i) w == Some (follow g w (root i))].
have told (c : choice) : exists bits, fits_in c ==> [exists g, right c bits g].
  have [c_in|_] := boolP (fits_in c); last first.
    by have [others [rows _]] := answers [ffun=> 1%g]; exists ([ffun i => rows (root i)], others).
  have [g g_edge] := every c c_in; have [others [rows ok]] := answers g.
  exists ([ffun i => rows (root i)], others); apply/existsP; exists g; apply/andP; split.
    by apply/forallP=> r; apply/forallP=> v; apply/implyP=> v_in; rewrite g_edge.
  by apply/forallP=> i; apply/forallP=> w; rewrite ffunE ok.
pose bits (c : choice) : bits_type := xchoose (told c).
(** In such a system the words of length at most k lead from the roots to the nodes. *)
have walk c (g : bijections N R) (i : 'I_m) w : (forall r (v : 'I_N), v < I + n -> g r v = edge c r v) -> size w <= k ->
    follow g w (root i) = node m i w :> nat.
  move=> g_edge; elim/last_ind: w => // w r IH; rewrite size_rcons => w_k.
  have low : node m i w < I.
    by have /andP[_ /leq_trans] := node_level R0 w (ltn_ord i); apply; apply: above_le.
  have here := IH (ltnW w_k); rewrite follow_rcons g_edge ?here; last by lia.
  by rewrite /edge here low inside_val ?here // /node foldl_rcons.
have bits_inj : {in fits_in &, injective bits}.
  move=> c c' c_in c_in' same; apply/ffunP=> r; apply/ffunP=> l.
  have /implyP/(_ c_in)/existsP[g /andP[/forallP g_edge /forallP g_told]] := xchooseP (told c).
  have /implyP/(_ c_in')/existsP[g' /andP[/forallP g_edge' /forallP g_told']] := xchooseP (told c').
  have [|i [w w_l]] := @level_node R m R0 k (I + l); first by rewrite aboveS -/I -/n leq_addr ltn_add2l ltn_ord.
  have edges c0 (g0 : bijections N R) : (forall r, [forall v : 'I_N, (v < I + n) ==> (g0 r v == edge c0 r v)]) ->
      follow g0 (rcons w r) (root i) = outside r (c0 r l).
    move=> e0; have e0' r0 (v : 'I_N) : v < I + n -> g0 r0 v = edge c0 r0 v.
      by move=> v_in; have /forallP/(_ v) := e0 r0; rewrite v_in => /eqP.
    have := walk c0 g0 i w e0'; rewrite size_tuple w_l follow_rcons => /(_ (leqnn k)) here.
    rewrite e0' ?here ?ltn_add2l // /edge here ltnNge leq_addr /= addKn.
    by case: insubP => [l' _ /val_inj->|]; rewrite ?ltn_ord.
  apply: (outside_inj r); apply/Some_inj; rewrite -(edges c g) // -(edges c' g') //.
  move: (g_told i) (g_told' i) => /forallP/(_ [tuple of rcons w r])/eqP<- /forallP/(_ [tuple of rcons w r])/eqP<-.
  by rewrite -/(bits c) -/(bits c') same.
have := @leq_card_in [finType of choice] [finType of bits_type] bits fits_in bits_inj.
have -> : #|fits_in| = ((N - I) ^_ n) ^ R.
  rewrite -[in RHS](card_ord n) -[N - I in RHS]card_ord -card_inj_ffuns -[R in RHS]card_ord -card_ffun_on.
  by apply: eq_card => c; rewrite !inE; apply/forallP/ffun_onP => c_in r; have := c_in r; rewrite inE.
rewrite card_prod !card_ffun !card_ord -!expnM -expnD => /leq_trans; apply; rewrite leq_exp2l //; nia.
Qed.


(** Any function that answers from the row of x and B other bits. *)
Theorem T2c_trees_decoder (N R d b B k m : nat)
    (decode : 'I_(2 ^ B) -> 'I_N -> row_bits d b -> k.-tuple 'I_R -> option 'I_N) :
    (1 <= R)%N -> (1 <= k)%N -> (m * (\sum_(i < k) R ^ i) <= N)%N ->
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       forall x w, decode others x (rows x) w = Some (follow g w x)) ->
  (((N - m * (\sum_(i < k.-1) R ^ i)) ^_ (m * R ^ k.-1)) ^ R <= 2 ^ (B + m * d * b))%N.
Proof. by case: k decode => // k decode R1 _; apply: trees_decoder. Qed.

(** Transformers: [frame] is everything but the subject rows, chosen by B bits. *)
Theorem T2c_trees (F : realFieldType) (N R d b B k m : nat) (value : 'I_d -> 'I_(2 ^ b) -> F)
    (frame : 'I_(2 ^ B) -> transformer F N R N d) :
    (1 <= R)%N -> (1 <= k)%N -> (m * (\sum_(i < k) R ^ i) <= N)%N ->
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_subjects (frame others) (subjects value rows)) k g) ->
  (((N - m * (\sum_(i < k.-1) R ^ i)) ^_ (m * R ^ k.-1)) ^ R <= 2 ^ (B + m * d * b))%N.
Proof.
move=> R1 k1 fits answers.
apply: (@T2c_trees_decoder _ _ _ _ _ _ _ (fun others x row w => read value (frame others) x row w)) => // g.
have [others [rows right]] := answers g; exists others, rows => x w.
exact: (read_right x right).
Qed.

(** The inequality as [bounds.lower.dichotomy] computes it. *)
Definition t2c_tree_bound (N R k m : nat) : bound :=
  let total j := foldr (fun i n => R ^ i + n) 0 (iota 0 j) in
  {| rows := m; shared := 1; terms := [:: Term R (N - m * total k.-1) (m * R ^ k.-1)] |}.

Theorem T2c_trees_numbers (N R k m d b B : nat) : holds (t2c_tree_bound N R k m) d b B =
  (((N - m * (\sum_(i < k.-1) R ^ i)) ^_ (m * R ^ k.-1)) ^ R <= 2 ^ (B + m * d * b))%N.
Proof.
rewrite /holds count1 /= mul1n [m * d * b + B]addnC; congr (((N - m * _) ^_ _) ^ _ <= _).
by rewrite -(big_mkord xpredT (fun i => R ^ i)) unlock /reducebig /index_iota subn0.
Qed.

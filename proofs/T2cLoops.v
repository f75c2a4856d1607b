(** * T2c. Dichotomy, fixed read-out: loops, also where trees of depth k-1 do not fit.

    As in [T2c], a model answers all queries of k hops from the row of x and B other bits. For R >= 1, 1 <= D <= R,
    E >= 1 with D·E <= D^(k-1) (that is E <= D^(k-2); E = 1 if D = 1; D = 1 if k = 1) and m·D·E <= N:
    2^(B + m·d·b) >= (N-m)_{m(DE-1)} · ((N-mE)_{m(D-1)E})^D · ((N)_{mDE})^(R-D). Idea: relation 0 fixes the m roots, so
    that a word with 0s in front asks a shorter one. Nodes are numbered so that the child of node v by relation r is
    r·m + v for a root (relation 0: the root itself) and v·D + r for others. Choose distinct entities for all m·D·E
    nodes and all R edges out of them, those of a tree given: each choice is part of some fact system, and the roots'
    answers tell them all apart.

    Main theorems: [T2c_loops], [T2c_loops_decoder], [T2c_loops_numbers]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Decode Bound Extend T2c.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma card_below n j : j <= n -> #|[set v : 'I_n | v < j]| = j.
Proof.
move=> j_n; have widen_inj : injective (widen_ord j_n) by move=> u v /(congr1 val) /= e; apply/val_inj.
rewrite -[RHS](card_ord j) -(card_imset _ widen_inj); apply: eq_card => v; rewrite !inE.
apply/idP/imsetP => [v_j|[u _ ->]]; last exact: (ltn_ord u).
by exists (Ordinal v_j) => //; apply/val_inj.
Qed.

Lemma prod_below n j x y : j <= n -> \prod_(r < n) (if r < j then x else y) = x ^ j * y ^ (n - j).
Proof.
move=> j_n; rewrite (bigID (fun r : 'I_n => r < j)) /=; congr (_ * _).
  rewrite (eq_bigr (fun=> x)) => [|r ->] //; rewrite prod_nat_const; congr (_ ^ _).
  by rewrite -[RHS](card_below j_n); apply: eq_card => v; rewrite inE.
rewrite (eq_bigr (fun=> y)) => [|r /negbTE->] //; rewrite prod_nat_const; congr (_ ^ _).
rewrite -[n in n - _](card_ord n) -(cardC [set v : 'I_n | v < j]) card_below // addKn.
by apply: eq_card => v; rewrite !inE.
Qed.

(** ** Nodes *)

Section Nodes.
Variables (m D : nat).
Hypotheses (m0 : 0 < m) (D0 : 0 < D).

Definition loop_child (v r : nat) : nat := if v < m then r * m + v else v * D + r.
Definition loop_parent (v : nat) : nat := if v < m * D then v %% m else v %/ D.
Definition loop_relation (v : nat) : nat := if v < m * D then v %/ m else v %% D.

Lemma child_parent v : loop_child (loop_parent v) (loop_relation v) = v.
Proof.
rewrite /loop_child /loop_parent /loop_relation; case: (ltnP v (m * D)) => v_mD; first by rewrite ltn_pmod // -divn_eq.
by rewrite ltnNge leq_divRL // v_mD /= -divn_eq.
Qed.

Lemma parent_child v r : r < D -> loop_parent (loop_child v r) = v.
Proof.
move=> r_D; rewrite /loop_parent /loop_child; case: (ltnP v m) => v_m.
  by rewrite ifT ?modnMDl ?modn_small //; nia.
by rewrite ifN ?divnMDl ?divn_small ?addn0 // -leqNgt; nia.
Qed.

Lemma relation_lt v : loop_relation v < D.
Proof. by rewrite /loop_relation; case: (ltnP v (m * D)) => v_mD; [rewrite ltn_divLR // mulnC | rewrite ltn_pmod]. Qed.

Lemma parent_lt v e : 0 < e -> v < m * D * e -> loop_parent v < m * e.
Proof.
move=> e0 v_lt; rewrite /loop_parent; case: (ltnP v (m * D)) => v_mD; first by have := ltn_pmod v m0; nia.
by rewrite ltn_divLR //; nia.
Qed.

Lemma child_lt v r e : r < D -> v < m * e -> loop_child v r < m * D * e.
Proof.
move=> r_D v_lt; have e0 : 0 < e by case: e v_lt => //; rewrite muln0.
apply: (@leq_trans (if v < m then m * D else v.+1 * D)); rewrite /loop_child; case: (ltnP v m) => v_m.
- by rewrite (leq_trans (_ : _ < r.+1 * m)) ?mulSn ?[m + _]addnC ?ltn_add2l // -mulSnr mulnC leq_mul2l r_D orbT.
- by rewrite mulSn addnC ltn_add2r.
- by rewrite leq_pmulr.
- by rewrite mulnAC leq_mul2r v_lt orbT.
Qed.
End Nodes.

(** ** The theorem *)

Section Loops.
Variables (N R d b B k m D E : nat).
Hypotheses (m0 : 0 < m) (D0 : 0 < D) (D_R : D <= R) (E0 : 0 < E) (k0 : 0 < k) (deep : D * E <= D ^ k.-1)
  (fits : m * D * E <= N).
Variable decode : 'I_(2 ^ B) -> 'I_N -> row_bits d b -> k.-tuple 'I_R -> option 'I_N.
Hypothesis answers : forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
  forall x w, decode others x (rows x) w = Some (follow g w x).

Let n := m * D * E.
Let names := {ffun 'I_n -> 'I_N}.
Let place (v : 'I_n) : 'I_N := widen_ord fits v.
Let roots : {set 'I_n} := [set v : 'I_n | v < m].
Let expanded : {set 'I_n} := [set v : 'I_n | v < m * E].

(** The node that the tree's edge of relation r leads to, and the edges that a choice of names leaves free. *)
Let toward (r : nat) (v : 'I_n) : 'I_n := insubd v (loop_child m D v r).
Let given (nm : names) (r : 'I_R) : {set {ffun 'I_n -> 'I_N}} :=
  extensions (if r < D then expanded else set0) (fun v => nm (toward r v)).

Let choice := (names * {ffun 'I_R -> names})%type.
Let valid := [set c : names * {ffun 'I_R -> names} | (c.1 \in extensions roots place) && [forall r, c.2 r \in given c.1 r]].

Lemma place_inj : injective place.
Proof. by move=> u v /(congr1 val) /= e; apply/val_inj. Qed.

Lemma toward_val r (v : 'I_n) : r < D -> v < m * E -> toward r v = loop_child m D v r :> nat.
Proof. by move=> r_D v_E; rewrite val_insubd child_lt. Qed.

Lemma toward_inj r : r < D -> {in expanded &, injective (toward r)}.
Proof.
move=> r_D u v; rewrite !inE => u_E v_E /(congr1 val); rewrite /= !toward_val // => same.
by apply/val_inj; rewrite /= -(parent_child m0 D0 u r_D) same parent_child.
Qed.

Lemma card_roots : #|roots| = m.
Proof. by apply: card_below; rewrite /n; nia. Qed.

Lemma card_expanded : #|expanded| = m * E.
Proof. by apply: card_below; rewrite /n; nia. Qed.

Lemma names_inj (nm : names) : nm \in extensions roots place -> injective nm.
Proof. by rewrite inE => /andP[/injectiveP]. Qed.

Lemma card_given (nm : names) (r : 'I_R) : nm \in extensions roots place ->
  #|given nm r| = if r < D then (N - m * E) ^_ (n - m * E) else N ^_ n.
Proof.
move=> nm_in; rewrite /given card_extensions => [|u v]; rewrite ?card_ord.
  by case: ifP => _; rewrite ?card_expanded // cards0 !subn0.
case: ifP => r_D; last by rewrite inE.
by move=> u_E v_E /(names_inj nm_in); apply: toward_inj.
Qed.

Lemma card_valid : #|valid| = (N - m) ^_ (n - m) * ((N - m * E) ^_ (n - m * E)) ^ D * (N ^_ n) ^ (R - D).
Proof.
rewrite -sum1_card (eq_bigl (fun c : choice => (c.1 \in extensions roots place) &&
  (c.2 \in family (fun r => mem (given c.1 r))))); last first.
  by move=> c; rewrite inE; congr (_ && _); apply/forallP/familyP.
rewrite -(pair_big_dep (fun nm : names => nm \in extensions roots place)
  (fun nm (ed : {ffun 'I_R -> names}) => ed \in family (fun r => mem (given nm r))) (fun _ _ => 1)) /=.
rewrite (eq_bigr (fun=> ((N - m * E) ^_ (n - m * E)) ^ D * (N ^_ n) ^ (R - D))) => [|nm nm_in].
  rewrite sum_nat_const card_extensions ?card_roots ?card_ord -?mulnA // => u v _ _; exact: place_inj.
rewrite sum1_card card_family foldrE big_map big_enum /=.
rewrite (eq_bigr (fun r : 'I_R => if r < D then (N - m * E) ^_ (n - m * E) else N ^_ n)) => [|r _]; last first.
  by rewrite -(card_given r nm_in).
exact: prod_below.
Qed.

(** ** Every choice is part of a fact system, and the answers tell choices apart *)

Lemma m_N : m <= N.
Proof. by apply: leq_trans fits; rewrite -mulnA leq_pmulr // muln_gt0 D0. Qed.

Let root (i : 'I_m) : 'I_N := widen_ord m_N i.

(** A fact system with the names and edges of a choice. *)
Let realises (g : bijections N R) (c : choice) : bool := [forall r, forall v, g r (c.1 v) == c.2 r v].

Lemma realised (c : choice) : c \in valid -> exists g, realises g c.
Proof.
rewrite inE => /andP[nm_in /forallP ed_in].
have extends r : exists s : {perm 'I_N}, [forall v, s (c.1 v) == c.2 r v].
  have ed_inj : injective (c.2 r) by have := ed_in r; rewrite inE => /andP[/injectiveP].
  have [s s_edge] := perm_through (names_inj nm_in) ed_inj.
  by exists s; apply/forallP=> v; rewrite s_edge.
by exists [ffun r => xchoose (extends r)]; apply/forallP=> r; rewrite ffunE; apply: (xchooseP (extends r)).
Qed.

(** A word of length t leads to every node below m·D^t, in every choice. *)
Lemma walk t (v : 'I_n) : v < m * D ^ t -> exists (i : 'I_m) (w : t.-tuple 'I_R),
  forall c g, c \in valid -> realises g c -> follow g w (root i) = c.1 v.
Proof.
elim: t v => [|t IH] v v_lt.
  have v_m : v < m by rewrite expn0 muln1 in v_lt.
  exists (Ordinal v_m), [tuple] => c g; rewrite inE => /andP[nm_in _] _ /=.
  move: nm_in; rewrite inE => /andP[_ /forallP/(_ v)]; rewrite inE v_m => /eqP->; exact/val_inj.
have u_E : loop_parent m D v < m * E by apply: (parent_lt m0 D0 E0); exact: ltn_ord.
have u_n : loop_parent m D v < n by apply: leq_trans u_E _; rewrite /n mulnAC leq_pmulr.
have u_t : loop_parent m D v < m * D ^ t.
  by apply: (parent_lt m0 D0); rewrite ?expn_gt0 ?D0 // -mulnA -expnS.
have r_D := relation_lt m0 D0 v; have r_R := leq_trans r_D D_R.
have [i [w w_u]] := IH (Ordinal u_n) u_t; exists i, [tuple of rcons w (Ordinal r_R)] => c g c_in g_c.
rewrite follow_rcons (w_u c g c_in g_c); have /forallP/(_ (Ordinal r_R))/forallP/(_ (Ordinal u_n))/eqP-> := g_c.
move: c_in; rewrite inE => /andP[_ /forallP/(_ (Ordinal r_R))]; rewrite inE => /andP[_ /forallP/(_ (Ordinal u_n))].
rewrite /= r_D inE u_E => /eqP->; congr (c.1 _); apply/val_inj.
by rewrite /= toward_val //= child_parent.
Qed.

Lemma loops_decoder :
  (N - m) ^_ (n - m) * ((N - m * E) ^_ (n - m * E)) ^ D * (N ^_ n) ^ (R - D) <= 2 ^ (B + m * d * b).
Proof.
pose bits_type := ({ffun 'I_m -> row_bits d b} * 'I_(2 ^ B))%type.
pose right (g : bijections N R) (bits : bits_type) :=
  [forall i, forall w, decode bits.2 (root i) (bits.1 i) w == Some (follow g w (root i))].
have told (c : choice) : exists bits : bits_type, (c \in valid) ==> [exists g, realises g c && right g bits].
  have [c_in|_] := boolP (c \in valid); last first.
    by have [others [rows _]] := answers [ffun=> 1%g]; exists ([ffun i => rows (root i)], others).
  have [g g_c] := realised c_in; have [others [rows ok]] := answers g.
  exists ([ffun i => rows (root i)], others); apply/existsP; exists g; rewrite g_c.
  by apply/forallP=> i; apply/forallP=> w; rewrite ffunE ok.
pose bits (c : choice) : bits_type := xchoose (told c).
have bits_inj : {in valid &, injective bits}.
  move=> c c' c_in c'_in same.
  have /implyP/(_ c_in)/existsP[g /andP[g_c /forallP g_told]] := xchooseP (told c).
  have /implyP/(_ c'_in)/existsP[g' /andP[g_c' /forallP g_told']] := xchooseP (told c').
  have same_answer i (w : k.-tuple 'I_R) : follow (g : bijections N R) w (root i) = follow (g' : bijections N R) w (root i).
    apply/Some_inj; move: (g_told i) (g_told' i) => /forallP/(_ w)/eqP<- /forallP/(_ w)/eqP<-.
    by rewrite -/(bits c) -/(bits c') same.
  have v_lt (v : 'I_n) : v < m * D ^ k.-1.
    by apply: leq_trans (ltn_ord v) _; rewrite /n -mulnA leq_mul2l deep orbT.
  have v_lt' (v : 'I_n) : v < m * D ^ k.
    by apply: leq_trans (v_lt v) _; rewrite leq_mul2l leq_pexp2l ?leq_pred ?orbT.
  have same_names v : c.1 v = c'.1 v.
    by have [i [w w_v]] := walk (v_lt' v); rewrite -(w_v c g c_in g_c) -(w_v c' g' c'_in g_c').
  have same_edges r v : c.2 r v = c'.2 r v.
    have [i [w w_v]] := walk (v_lt v).
    have /forallP/(_ r)/forallP/(_ v)/eqP <- := g_c; have /forallP/(_ r)/forallP/(_ v)/eqP <- := g_c'.
    rewrite -(w_v c g c_in g_c) -(w_v c' g' c'_in g_c') -!follow_rcons.
    have size_w : size (rcons w r) == k by rewrite size_rcons size_tuple prednK.
    exact: (same_answer i (Tuple size_w)).
  case: c c' c_in c'_in same g_c g_c' same_names same_edges {g_told g_told' same_answer v_lt v_lt'}.
  move=> nm ed [nm' ed'] /= _ _ _ _ _ same_names same_edges; congr (_, _); first exact/ffunP.
  by apply/ffunP=> r; apply/ffunP.
have := @leq_card_in [finType of names * {ffun 'I_R -> names}] [finType of bits_type] bits (mem valid) bits_inj.
rewrite card_valid card_prod card_ffun card_row_bits !card_ord -expnM -expnD.
by rewrite [d * b * m + B]addnC [d * b * m]mulnC mulnA.
Qed.
End Loops.

(** Any function that answers from the row of x and B other bits. *)
Theorem T2c_loops_decoder (N R d b B k m D E : nat)
    (decode : 'I_(2 ^ B) -> 'I_N -> row_bits d b -> k.-tuple 'I_R -> option 'I_N) :
    (1 <= m)%N -> (1 <= D <= R)%N -> (1 <= E)%N -> (1 <= k)%N -> (D * E <= D ^ k.-1)%N -> (m * D * E <= N)%N ->
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       forall x w, decode others x (rows x) w = Some (follow g w x)) ->
  (N - m) ^_ (m * D * E - m) * ((N - m * E) ^_ (m * D * E - m * E)) ^ D * (N ^_ (m * D * E)) ^ (R - D)
    <= 2 ^ (B + m * d * b).
Proof. by move=> m1 /andP[D1 D_R] E1 k1 deep fits answers; apply: (loops_decoder m1 D1 D_R E1 k1 deep fits answers). Qed.

(** Transformers: [frame] is everything but the subject rows, chosen by B bits. *)
Theorem T2c_loops (F : realFieldType) (N R d b B k m D E : nat) (value : 'I_d -> 'I_(2 ^ b) -> F)
    (frame : 'I_(2 ^ B) -> transformer F N R N d) :
    (1 <= m)%N -> (1 <= D <= R)%N -> (1 <= E)%N -> (1 <= k)%N -> (D * E <= D ^ k.-1)%N -> (m * D * E <= N)%N ->
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_subjects (frame others) (subjects value rows)) k g) ->
  (N - m) ^_ (m * D * E - m) * ((N - m * E) ^_ (m * D * E - m * E)) ^ D * (N ^_ (m * D * E)) ^ (R - D)
    <= 2 ^ (B + m * d * b).
Proof.
move=> m1 D1 E1 k1 deep fits answers.
apply: (@T2c_loops_decoder N R d b B k m D E (fun others x row w => read value (frame others) x row w)) => // g.
have [others [rows right]] := answers g; exists others, rows => x w.
exact: (read_right x right).
Qed.

(** The inequality as [bounds.lower.dichotomy] computes it. *)
Definition t2c_loop_bound (N R m D E : nat) : bound :=
  {| rows := m; shared := 1;
     terms := [:: Term 1 (N - m) (m * D * E - m); Term D (N - m * E) (m * D * E - m * E);
                  Term (R - D) N (m * D * E)] |}.

Theorem T2c_loops_numbers (N R m D E d b B : nat) : holds (t2c_loop_bound N R m D E) d b B =
  ((N - m) ^_ (m * D * E - m) * ((N - m * E) ^_ (m * D * E - m * E)) ^ D * (N ^_ (m * D * E)) ^ (R - D)
    <= 2 ^ (B + m * d * b)).
Proof. by rewrite /holds count3 /= expn1 mul1n addnC. Qed.

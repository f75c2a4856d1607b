(** * A partial injection of a finite type extends to a permutation, and how many injections extend one.

    The lower bounds build fact systems from the edges that they need: each relation is fixed on some entities and free
    on the rest. Main lemmas: [extend_to_perm], [perm_through], [card_extensions]. *)
From mathcomp Require Import all_ssreflect all_fingroup.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma extend_to_perm (T : finType) (D : {set T}) (f : T -> T) : {in D &, injective f} ->
  exists s : {perm T}, {in D, s =1 f}.
Proof.
move=> f_inj.
pose A := enum D ++ enum (~: D); pose B := map f (enum D) ++ enum (~: (f @: D)).
have A_uniq : uniq A.
  by rewrite cat_uniq !enum_uniq andbT; apply/hasPn=> x; rewrite mem_enum inE => x_D /=; rewrite mem_enum.
have B_uniq : uniq B.
  rewrite cat_uniq enum_uniq andbT map_inj_in_uniq ?enum_uniq => [|x y]; last first.
    by rewrite !mem_enum; apply: f_inj.
  apply/hasPn=> x; rewrite mem_enum inE; apply: contra => /= /mapP[y y_D ->].
  by apply: imset_f; rewrite mem_enum in y_D.
have in_A x : x \in A by rewrite mem_cat !mem_enum inE orbN.
have sizes : size A = size B.
  rewrite !size_cat size_map -!cardE; congr (_ + _)%N.
  by rewrite [LHS]cardsCs [RHS]cardsCs !setCK (card_in_imset f_inj).
have s_inj : injective (fun x => nth x B (index x A)).
  move=> x y same; have x_lt : (index x A < size B)%N by rewrite -sizes index_mem.
  have y_lt : (index y A < size B)%N by rewrite -sizes index_mem.
  move: same; rewrite (set_nth_default y x x_lt) => /eqP; rewrite nth_uniq // => /eqP same.
  by rewrite -(nth_index x (in_A x)) same nth_index.
exists (perm s_inj) => x x_D; rewrite permE.
have x_en : x \in enum D by rewrite mem_enum.
have i_lt : (index x (enum D) < size (enum D))%N by rewrite index_mem.
by rewrite /A /B index_cat x_en nth_cat size_map i_lt (nth_map x) // nth_index.
Qed.

(** A permutation through given, distinct points. *)
Lemma perm_through (I T : finType) (a b : I -> T) : injective a -> injective b ->
  exists s : {perm T}, forall i, s (a i) = b i.
Proof.
move=> a_inj b_inj; pose f y := if [pick i | a i == y] is Some i then b i else y.
have f_a i : f (a i) = b i.
  by rewrite /f; case: pickP => [j /eqP/a_inj-> //|/(_ i)]; rewrite eqxx.
have [|s s_f] := @extend_to_perm T (a @: [set: I]) f.
  by move=> _ _ /imsetP[i _ ->] /imsetP[j _ ->]; rewrite !f_a => /b_inj->.
by exists s => i; rewrite s_f ?f_a // imset_f ?inE.
Qed.

(** The injections that agree with a given one on a set A. *)
Definition extensions (D T : finType) (A : {set D}) (f0 : D -> T) : {set {ffun D -> T}} :=
  [set f : {ffun D -> T} | injectiveb f && [forall x in A, f x == f0 x]].

Lemma card_extensions (D T : finType) (A : {set D}) (f0 : D -> T) : {in A &, injective f0} ->
  #|extensions A f0| = (#|T| - #|A|) ^_ (#|D| - #|A|).
Proof.
move: {2}#|~: A| (erefl #|~: A|) => n; elim: n A f0 => [|n IH] A f0 sizes f0_inj.
  have -> : #|D| = #|A| by rewrite -(cardsC A) sizes addn0.
  rewrite subnn ffactn0; have all x : x \in A.
    by have/eqP := sizes; rewrite cards_eq0 => /eqP/setP/(_ x); rewrite !inE => /negbFE.
  apply/eqP/cards1P; exists (finfun f0); apply/setP=> f; rewrite !inE; apply/andP/eqP.
    by case=> _ /forallP same; apply/ffunP=> x; have := same x; rewrite all ffunE => /eqP.
  move=> ->; split; last by apply/forallP=> x; rewrite ffunE eqxx implybT.
  by apply/injectiveP=> x y; rewrite !ffunE; apply: f0_inj.
have [x x_out] : exists x, x \in ~: A by apply/set0Pn; rewrite -cards_eq0 sizes.
have x_A : x \notin A by rewrite inE in x_out.
pose set_x y z := if z == x then y else f0 z.
have one y : y \notin f0 @: A ->
    #|[set f in extensions A f0 | f x == y]| = (#|T| - #|A|.+1) ^_ (#|D| - #|A|.+1).
  move=> y_out; have cardA : #|x |: A| = #|A|.+1 by rewrite cardsU1 x_A.
  rewrite -cardA -(IH (x |: A) (set_x y)).
  - apply: eq_card => f; rewrite !inE -andbA; congr (_ && _); apply/andP/forallP.
      case=> /forallP same /eqP f_x z; apply/implyP; rewrite !inE /set_x; case: eqP => [->|_] /=; first by rewrite f_x.
      by move=> z_A; have := same z; rewrite z_A.
    move=> same; split; last by have := same x; rewrite !inE eqxx /set_x eqxx.
    apply/forallP=> z; apply/implyP=> z_A; have := same z; rewrite !inE z_A orbT /set_x ifN //.
    by apply: contraNneq x_A => <-.
  - by apply: succn_inj; rewrite -sizes (cardsD1 x (~: A)) x_out add1n; congr _.+1; apply: eq_card => z;
      rewrite !inE negb_or.
  - move=> u v; rewrite !inE /set_x; case: (eqVneq u x) => [->|_] /=; case: (eqVneq v x) => [-> //|_] /=.
    + by move=> _ v_A y_v; case/negP: y_out; rewrite y_v imset_f.
    + by move=> u_A _ u_y; case/negP: y_out; rewrite -u_y imset_f.
    + by move=> u_A v_A; apply: f0_inj.
have A_D : #|A| < #|D| by rewrite -(cardsC A) sizes addnS ltnS leq_addr.
rewrite -sum1_card (partition_big (fun f : {ffun D -> T} => f x) xpredT) //=.
rewrite (bigID (mem (f0 @: A))) /= big1 ?add0n => [|y /imsetP[z z_A ->]]; last first.
  rewrite sum1dep_card; apply/eqP; rewrite cards_eq0; apply/eqP/setP=> f; rewrite !inE.
  apply/negP=> /andP[/andP[/injectiveP f_inj /forallP/(_ z)]]; rewrite z_A => /eqP <- /eqP/f_inj x_z.
  by rewrite x_z z_A in x_A.
rewrite (eq_bigr (fun=> (#|T| - #|A|.+1) ^_ (#|D| - #|A|.+1))) => [|y y_out]; last by rewrite sum1dep_card one.
rewrite sum_nat_const (_ : #|_| = #|T| - #|A|).
  by rewrite -(subnSK A_D) ffactnS subnS.
by rewrite -[#|A|](card_in_imset f0_inj) -(cardsC (f0 @: A)) addKn; apply: eq_card => y; rewrite !inE.
Qed.

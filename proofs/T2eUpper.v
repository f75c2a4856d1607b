(** * T2e. Meet in the middle: a learned or tied read-out halves the exponent. Mirrors [constructions/weights/t2e.py].

    For all N >= 2, R >= 1, k >= 1 and all R permutations of N entities: hardmax attention, width 2·R^k·⌈log2 N⌉, entries
    -1, 0 and +1 in subject table and read-out, all N·R^k queries answered in one pass with margin at least 2. With a
    learned read-out d is R^⌈k/2⌉·⌈log2 N⌉, with a tied one (R^⌈k/2⌉ + R^⌊k/2⌋)·⌈log2 N⌉, and at least what relation tokens
    need, 4 or fewer. Idea: a word is u then v; the row of x has a block of signs c(g_u(x)) for each u, the row of a one
    c(g_v⁻¹(a)) for each v, and the MLP copies block u of x to the place of v: c(g_u(x)) is c(g_v⁻¹(a)) iff a is the
    answer. A sign c of a block arrives at c + 3J - 3V·mismatch, J the number of v among V = R^⌊k/2⌋; [window P] is c
    there if P = J and the mismatch is 0, and 0 otherwise.

    Main theorems: [T2e], [T2e_size], [T2e_entries], [T2e_tied_rows], [T2e_frozen]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights, for words of h and then s relations; [g r x] is the answer to (x, r) *)

(** The entity from which the word leads to a, by the table of answers. *)
Definition origin (N : nat) (g : nat -> nat -> nat) (w : seq nat) (a : nat) : nat :=
  find (fun x => walk g w x == a) (iota 0 N).

Section Weights.
Variables (N R h s : nat) (tied : bool) (g : nat -> nat -> nat).
Let p := code_bits N.
Let V := (R ^ s)%N.
Let entries := (R ^ h * p)%N.
Let exits := (V * p)%N.
Let start := if tied then entries else 0%N.

Definition middle_dimension : nat := maxn (coordinates_needed R (h + s) 0) (maxn (start + exits) entries).

(** The blocks of a subject, and those of an answer. *)
Definition fore_sign (x j : nat) : int := sign (walk g (letters R h (j %/ p)) x) (j %% p).
Definition back_sign (a j : nat) : int := sign (origin N g (letters R s (j %/ p)) a) (j %% p).

(** What slot i adds to coordinate j, by coordinate v of the code of its relation. *)
Definition middle_gate (i v j : nat) : int :=
  if (i < h)%N then - (3 * V)%N%:Z * linear R 0 (letter R h (j %/ p) i) v
  else if v is 0 then (3 * R ^ (s.-1 - (i - h)))%N%:Z else 0.

(** Hidden unit u: number q = 0 or 1 of window P of coordinate e. *)
Definition unit_entry (u : nat) : nat := (u %/ (V * 2))%N.
Definition unit_window (u : nat) : nat := (u %% (V * 2) %/ 2)%N.
Definition unit_kink (u : nat) : nat := (u %% (V * 2) %% 2)%N.

Definition middle_in (i u : nat) : int := if (i == unit_entry u)%N then 1 else 0.
Definition middle_bias (u : nat) : int :=
  - ((3 * unit_window u)%N%:Z - 2 + (unit_kink u)%:Z)
  - (3 * V)%N%:Z * sum h (fun i => constant R 0 (letter R h (unit_entry u %/ p) i))
  - reading_position R (h + s) middle_dimension 1 0 (unit_entry u).

Definition middle_out (u j : nat) : int :=
  let here := (unit_window u * p + unit_entry u %% p)%N in
  if (start <= j)%N then
    (if (j - start == here)%N then if unit_kink u is 0 then -1 else 2 else 0) +
    (if (0 < unit_window u)%N && (j - start + p == here)%N then if unit_kink u is 0 then -2 else 1 else 0)
  else 0.

Definition middle : weights :=
  let d := middle_dimension in
  {| dimension := d;
     subject := fun x j => if (j < entries)%N then fore_sign x j
                           else if tied && (j < entries + exits)%N then back_sign x (j - entries) else 0;
     relation := code R 0;
     position := reading_position R (h + s) d 1;
     layers := [:: reading_layer R (h + s) d 0 entries (entries * (V * 2)) middle_gate middle_in middle_bias middle_out];
     unembed := fun j a => if (start <= j < start + exits)%N then back_sign a (j - start)
                           else if tied && (j < entries)%N then fore_sign a j else 0;
     unbias := fun=> 0;
     attends := Hardmax; adds := false; masked := false |}.
End Weights.

Definition t2e (N R k : nat) (tied : bool) (g : nat -> nat -> nat) : weights := middle N R (uphalf k) k./2 tied g.

(** ** Sums *)

Lemma sum_grid (n m : nat) (f : nat -> int) : \sum_(u < n * m) f u = \sum_(i < n) \sum_(j < m) f (i * m + j)%N.
Proof.
elim: n => [|n IH]; first by rewrite !big_ord0.
by rewrite mulSnr big_split_ord /= IH big_ord_recr.
Qed.

Lemma sum_window (d s n : nat) (f : nat -> int) : (s + n <= d)%N ->
    (forall j, ~~ (s <= j < s + n)%N -> f j = 0) ->
  \sum_(j < d) f j = \sum_(t < n) f (s + t)%N.
Proof.
move=> fits zero; rewrite -(subnKC fits) !big_split_ord /= big1 ?add0r => [|j _]; last first.
  by apply: zero; rewrite leqNgt ltn_ord.
by rewrite [X in _ + X]big1 ?addr0 // => j _; apply: zero; rewrite negb_and orbC -leqNgt leq_addr.
Qed.

(** ** Windows *)

(** The values of the units of window P and of the next, if there is one, at s. *)
Definition window (V P : nat) (v : int) : int :=
  - Num.max 0 (v - (3 * P)%N%:Z + 2) + 2 * Num.max 0 (v - (3 * P)%N%:Z + 1) +
  (if (P.+1 < V)%N then - 2 * Num.max 0 (v - (3 * P)%N%:Z - 1) + Num.max 0 (v - (3 * P)%N%:Z - 2) else 0).

Lemma window_low V P v : v - (3 * P)%N%:Z <= -2 -> window V P v = 0.
Proof. by move=> low; rewrite /window !max_l ?mulr0 ?if_same; lia. Qed.

Lemma window_high V P v : (P.+1 < V)%N -> 2 <= v - (3 * P)%N%:Z -> window V P v = 0.
Proof. by move=> next high; rewrite /window next !max_r; lia. Qed.

Lemma windowE (V P J : nat) (c miss : int) : (P < V)%N -> (J < V)%N -> (c = 1 \/ c = -1) -> 0 <= miss ->
  window V P (c + (3 * J)%N%:Z - (3 * V)%N%:Z * miss) = if (miss == 0) && (P == J) then c else 0.
Proof.
move=> P_V J_V c1 miss0; case: (eqVneq miss 0) => [->|differ] /=; last first.
  have far : (3 * V)%N%:Z <= (3 * V)%N%:Z * miss by nia.
  by apply: window_low; move: far; move: (_ * miss) => off; case: c1 => ->; lia.
rewrite mulr0 subr0; case: (ltngtP P J) => [PJ|JP|->].
- by apply: window_high; [lia | case: c1 => ->; lia].
- by apply: window_low; case: c1 => ->; lia.
by rewrite /window addrK; case: c1 => ->; case: ifP.
Qed.

Lemma number_sum R w : (number R w)%:Z = \sum_(i < size w) (nth 0%N w i)%:Z * (R ^ ((size w).-1 - i))%N%:Z.
Proof.
elim/last_ind: w => [|w r IH]; first by rewrite big_ord0.
rewrite number_rcons size_rcons big_ord_recr /= nth_rcons ltnn eqxx subnn expn0 mulr1 PoszD PoszM IH; congr (_ + _).
rewrite mulr_suml; apply: eq_bigr => i _; rewrite nth_rcons ltn_ord -mulrA -PoszM -expnSr.
by rewrite -subSn ?prednK //; have := ltn_ord i; lia.
Qed.

(** ** One query *)

(** Where a permutation leads to each entity from. *)
Lemma origin_follow N R s (g : bijections N R) (v : s.-tuple 'I_R) (z : 'I_N) :
  origin N (table g) (numbers v) (follow g v z) = z.
Proof.
have follow_inj (w : seq 'I_R) : injective (follow g w).
  by elim: w => [|r w IH] y y' //= /IH; rewrite !facts_ofE => /perm_inj.
have here : has (fun y => walk (table g) (numbers v) y == follow g v z) (iota 0 N).
  by apply/hasP; exists (z : nat); rewrite ?mem_iota ?ltn_ord //= walk_follow.
have found := here; rewrite has_find size_iota in found.
have := nth_find 0%N here; rewrite nth_iota // -/(origin N (table g) (numbers v) (follow g v z)).
rewrite -[(0 + _)%N]/(val (Ordinal found)) walk_follow => /eqP/val_inj/follow_inj/(congr1 val) <-.
by [].
Qed.

Lemma from_somewhere N R s (g : bijections N R) (v : s.-tuple 'I_R) (a : 'I_N) : exists z, a = follow g v z.
Proof.
have follow_inj (w : seq 'I_R) : injective (follow g w).
  by elim: w => [|r w IH] y y' //= /IH; rewrite !facts_ofE => /perm_inj.
by have /codomP := injF_onto (follow_inj v) a.
Qed.

Section Query.
Variables (F : realFieldType) (N R h s : nat) (tied : bool) (g : bijections N R).
Hypotheses (N2 : (2 <= N)%N) (R1 : (1 <= R)%N) (h1 : (1 <= h)%N).
Variables (x : 'I_N) (u : h.-tuple 'I_R) (v : s.-tuple 'I_R).

Let p := code_bits N.
Let V := (R ^ s)%N.
Let entries := (R ^ h * p)%N.
Let start := if tied then entries else 0%N.
Let W := middle N R h s tied (table g).
Let d := dimension W.
Let L := reading_layer R (h + s) d 0 entries (entries * (V * 2)) (middle_gate N R h s) (middle_in R s)
  (middle_bias N R h s tied) (middle_out N R h s tied).
Let w := cat_tuple u v.
Let n := number R (numbers u).
Let J := number R (numbers v).

Let p0 : (0 < p)%N := code_bits_gt0 N2.
Let V0 : (0 < V)%N.
Proof. by rewrite expn_gt0 R1. Qed.
Let J_V : (J < V)%N := number_word_lt v.
Let n_lt : (n < R ^ h)%N := number_word_lt u.

Let room : (coordinates_needed R (h + s) 0 <= d)%N.
Proof. exact: leq_maxl. Qed.

Let c_entries : (columns R 0 <= entries <= d)%N.
Proof.
apply/andP; split; last by rewrite /d /= /middle_dimension !leq_max leqnn !orbT.
apply: leq_trans (_ : R ^ h <= _)%N; last by rewrite leq_pmulr.
apply: leq_trans (_ : R <= _)%N; last by rewrite -{1}(expn1 R) leq_pexp2l.
by rewrite /columns; lia.
Qed.

Let small y j : `|subject W y j| <= 1%:Z.
Proof. by rewrite /=; case: ifP => _; [|case: ifP => // _]; rewrite /fore_sign /back_sign /sign; case: bit. Qed.

(** What arrives at a coordinate, beside constants. *)
Definition arrives (e : nat) : int :=
  fore_sign N R h (table g) x e + (3 * J)%N%:Z - (3 * V)%N%:Z * mismatch R h (e %/ p) (numbers u).

Lemma numbers_cat i : nth 0%N (numbers w) i = if (i < h)%N then nth 0%N (numbers u) i else nth 0%N (numbers v) (i - h).
Proof. by rewrite /numbers /= map_cat nth_cat size_map size_tuple. Qed.

Lemma attendedE e : (e < entries)%N -> attended_reading W 1 entries (middle_gate N R h s) x w e =
  arrives e + (3 * V)%N%:Z * sum h (fun i => constant R 0 (letter R h (e %/ p) i)) + reading_position R (h + s) d 1 0 e.
Proof.
move=> e_lt; rewrite /attended_reading e_lt.
have -> : subject W x e = fore_sign N R h (table g) x e by rewrite /= -/p -/entries e_lt.
rewrite big_split_ord /=.
have -> : \sum_(i < h) \sum_(c < columns R 0) code R 0 (nth 0%N (numbers w) i) c * middle_gate N R h s i c e =
    - (3 * V)%N%:Z * (mismatch R h (e %/ p) (numbers u) - sum h (fun i => constant R 0 (letter R h (e %/ p) i))).
  rewrite sumE /mismatch -sumrB mulr_sumr; apply: eq_bigr => i _.
  rewrite -(@mismatchE R 0) //; first last.
  - by rewrite ltn_pmod.
  - by apply: (numbers_small (w := u)); apply: mem_nth; rewrite size_numbers.
  rewrite addrK mulr_sumr; apply: eq_bigr => c _; rewrite numbers_cat /middle_gate ltn_ord.
  by rewrite mulrCA.
have -> : \sum_(i < s) \sum_(c < columns R 0) code R 0 (nth 0%N (numbers w) (h + i)) c * middle_gate N R h s (h + i) c e =
    (3 * J)%N%:Z.
  rewrite PoszM /J number_sum size_numbers mulr_sumr; apply: eq_bigr => i _.
  rewrite numbers_cat /middle_gate !ltnNge !leq_addr /= !addKn.
  set r := nth 0%N _ _; have r_R : (r < R)%N by apply: (numbers_small (w := v)); apply: mem_nth; rewrite size_numbers.
  case: (posnP (columns R 0)) => [none|some].
    rewrite [columns R 0]none big_ord0; have -> : r = 0%N by move: none; rewrite /columns; lia.
    by rewrite mul0r mulr0.
  rewrite (bigD1 (Ordinal some)) //= big1 => [|c]; last by case: c => -[|c] //= _ _; rewrite mulr0.
  by rewrite addr0 /code some PoszM mulrCA.
rewrite /arrives mulNr mulrBr -/d.
move: (_ * mismatch _ _ _ _) (_ * sum _ _) (reading_position _ _ _ _ _ _) (fore_sign _ _ _ _ _ _) => c1 c2 c3 c4.
by lia.
Qed.

Let att := attended_reading W 1 entries (middle_gate N R h s) x w.

Lemma units e P q : (P < V)%N -> (q < 2)%N ->
  [/\ unit_entry R s (e * (V * 2) + (P * 2 + q)) = e, unit_window R s (e * (V * 2) + (P * 2 + q)) = P &
      unit_kink R s (e * (V * 2) + (P * 2 + q)) = q].
Proof.
move=> P_V q2; have lt : (P * 2 + q < V * 2)%N by lia.
rewrite /unit_entry /unit_window /unit_kink -/V divnMDl ?muln_gt0 ?V0 // modnMDl divn_small // modn_small // addn0.
by rewrite divnMDl // divn_small // addn0 modnMDl modn_small.
Qed.

Lemma hiddenE e P q : (e < entries)%N -> (P < V)%N -> (q < 2)%N ->
  hidden d L att (e * (V * 2) + (P * 2 + q)) = Num.max 0 (arrives e - (3 * P)%N%:Z + 2 - q%:Z).
Proof.
move=> e_lt P_V q2; have [entry_e window_P kink_q] := units e P_V q2.
have e_d : (e < d)%N by have /andP[_] := c_entries; apply: leq_trans.
rewrite /hidden /= /middle_in entry_e (sum_delta att) // mulr1 /att attendedE //.
rewrite /middle_bias entry_e window_P kink_q -/p -/V; congr (Num.max 0 _); rewrite -[middle_dimension _ _ _ _ _]/d.
move: (_ * sum _ _) (reading_position _ _ _ _ _ _) => c1 c2; lia.
Qed.

(** The units of coordinate e write window P of what arrives there on place P of its sign. *)
Lemma written e P i : (e < entries)%N -> (P < V)%N -> (i < p)%N ->
  \sum_(l < V * 2) hidden d L att (e * (V * 2) + l)%N * fout L (e * (V * 2) + l)%N (start + (P * p + i))%N =
    if (e %% p == i)%N then window V P (arrives e) else 0.
Proof.
move=> e_lt P_V i_p; rewrite (sum_grid V 2 (fun l => hidden d L att (e * (V * 2) + l)%N *
  fout L (e * (V * 2) + l)%N (start + (P * p + i))%N)).
pose H P' (q : nat) := Num.max 0 (arrives e - (3 * P')%N%:Z + 2 - q%:Z).
have place P' Q : (P' * p + i == Q * p + e %% p)%N = (P' == Q) && (e %% p == i)%N.
  have e_p : (e %% p < p)%N by rewrite ltn_pmod.
  apply/eqP/andP => [same|[/eqP-> /eqP->] //].
  move: (e %% p)%N e_p same => r r_p; case: (ltngtP P' Q) => [PQ|PQ|->] same; by nia.
transitivity (\sum_(Q < V) (if (e %% p == i)%N then (- H Q 0%N + 2 * H Q 1%N) * (if (Q == P :> nat)%N then 1 else 0) +
    (- 2 * H Q 0%N + H Q 1%N) * (if (Q == P.+1 :> nat)%N then 1 else 0) else 0)).
  apply: eq_bigr => Q _; rewrite !big_ord_recl big_ord0 addr0 /= /bump /= !hiddenE // -!/(H _ _).
  have [e0 w0 k0] := units e (ltn_ord Q) (isT : (0 < 2)%N); have [e1 w1 k1] := units e (ltn_ord Q) (isT : (1 < 2)%N).
  rewrite /middle_out leq_addr addKn e0 e1 w0 w1 k0 k1 -/p place.
  rewrite (_ : P * p + i + p = P.+1 * p + i)%N ?place; last by rewrite mulSn; lia.
  have -> : (0 < Q)%N && ((P.+1 == Q) && (e %% p == i)%N) = (P.+1 == Q) && (e %% p == i)%N.
    by case: (eqVneq P.+1 (val Q)) => [<-|_]; rewrite ?andbF.
  rewrite addn0 [P == _]eq_sym [P.+1 == _]eq_sym; move: (H Q 0%N) (H Q 1%N) (val Q == P) (val Q == P.+1) => c0 c1 b0 b1.
  by case: (e %% p == i)%N; case: b0; case: b1 => /=; lia.
case: eqP => [here|_]; last by rewrite big1.
rewrite big_split /= (sum_delta (fun Q => - H Q 0%N + 2 * H Q 1%N)) // mulr1 /window; congr (_ + _).
  by rewrite /H subr0; congr (_ + 2 * Num.max 0 _); lia.
case: ltnP => next; last by rewrite big1 // => Q _; rewrite ifN ?mulr0 // neq_ltn (leq_trans (ltn_ord Q)).
rewrite (sum_delta (fun Q => - 2 * H Q 0%N + H Q 1%N)) // mulr1 /H.
by congr (- 2 * Num.max 0 _ + Num.max 0 _); lia.
Qed.

(** The MLP copies the block of u to the place of v. *)
Lemma mlpE P i : (P < V)%N -> (i < p)%N ->
  mlp d L att (start + (P * p + i)) = if P == J then sign (follow g u x) i else 0.
Proof.
move=> P_V i_p; rewrite /mlp addr0 (sum_grid entries (V * 2) (fun l => hidden d L att l * fout L l (start + (P * p + i))%N)).
rewrite (eq_bigr (fun e : 'I_entries => if (e %% p == i)%N then window V P (arrives e) else 0)) => [|e _]; last first.
  by rewrite written.
have here : (n * p + i < entries)%N by apply: entry_lt.
rewrite (bigD1 (Ordinal here)) //= modnMDl modn_small // eqxx big1 ?addr0 => [|e differ].
  rewrite /arrives divnMDl // divn_small // addn0 mismatch_asked windowE ?lexx //; last first.
    by rewrite /fore_sign /sign; case: bit; [left | right].
  by rewrite eqxx /fore_sign -/p divnMDl // divn_small // addn0 modnMDl modn_small // letters_word walk_follow.
case: eqP => // e_i; rewrite /arrives windowE ?mismatch_ge0 //; last by rewrite /fore_sign /sign; case: bit; [left | right].
have other : (e %/ p)%N != n by apply: contra differ => /eqP e_n; apply/eqP/val_inj; rewrite /= (divn_eq e p) e_n e_i.
have e_lt : (e %/ p < R ^ h)%N by rewrite ltn_divLR.
by rewrite gt_eqF //; have := mismatch_other e_lt other; lia.
Qed.

Lemma mlp_outside j : ~~ (start <= j < start + V * p)%N -> mlp d L att j = 0.
Proof.
move=> outside; rewrite /mlp addr0 big1 // => l _; rewrite [fout L _ _]/(middle_out N R h s tied l j).
rewrite /middle_out -/p -/entries -/start.
have w_V : (unit_window R s l < V)%N.
  by rewrite /unit_window ltn_divLR // ltn_pmod // muln_gt0 V0.
have here : (unit_window R s l * p + unit_entry R s l %% p < V * p)%N by rewrite entry_lt // ltn_pmod.
case: (leqP start j) => [low|_]; last by rewrite mulr0.
rewrite low /= -leqNgt in outside.
by rewrite !ifN ?addr0 ?mulr0 // ?negb_and; [apply/orP; right|]; rewrite -/entries -/start; lia.
Qed.

(** The logits, and the theorem for words of h and then s relations. *)
Lemma answered (a : 'I_N) : a != follow g w x ->
  logits (over F N R N W) (prompt x w) 0 a + 2 <= logits (over F N R N W) (prompt x w) 0 (follow g w x).
Proof.
have k1 : (0 < h + s)%N by rewrite addn_gt0 h1.
have logit := @logits_reading F N R (h + s) W _ _ _ _ _ _ _ k1 R1 room c_entries erefl erefl erefl erefl (fun _ _ => erefl)
  small x w N.
rewrite !logit {logit} -[2]/(2%:~R) -rmorphD ler_int !addr0.
have read c : \sum_(j < d) mlp d L att j * unembed W j c =
    \sum_(i < p) sign (follow g u x) i * readout_by_signs p i (origin N (table g) (numbers v) c).
  rewrite (@sum_window d start (V * p) (fun j => mlp d L att j * unembed W j c)); first last.
  - by move=> j outside; rewrite mlp_outside ?mul0r.
  - by rewrite /d /= /middle_dimension !leq_max leqnn orbT.
  rewrite (sum_grid V p (fun t => mlp d L att (start + t)%N * unembed W (start + t)%N c)).
  rewrite (bigD1 (Ordinal J_V)) //= [X in _ + X]big1 ?addr0 => [|P differ].
    apply: eq_bigr => i _; rewrite mlpE // eqxx -/p -/V -/entries -/start leq_addr ltn_add2l entry_lt //= addKn.
    rewrite /back_sign -/p divnMDl // divn_small // addn0 modnMDl modn_small // letters_word.
    by rewrite /readout_by_signs ltn_ord.
  by apply: big1 => i _; rewrite mlpE // ifN ?mul0r.
rewrite !read; have follows : follow g w x = follow g v (follow g u x) by rewrite /follow /= foldl_cat.
have [z ->] := from_somewhere g v a; rewrite follows !origin_follow => differ.
apply: read_signs => // [|i i_p]; first by apply: contra differ => /eqP ->.
by rewrite sign_sq.
Qed.
End Query.

(** ** The theorems *)

Section Theorems.
Variables (F : realFieldType) (N R k : nat) (tied : bool).

Definition T2e_model (g : bijections N R) := over F N R N (t2e N R k tied (table g)).

Lemma halves : (uphalf k + k./2 = k)%N.
Proof. by rewrite uphalf_half -addnA addnn odd_double_half. Qed.

(** All queries of k hops are answered with margin at least 2. *)
Theorem T2e (g : bijections N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= k)%N ->
  answers_all_with_margin (T2e_model g) k 2 g.
Proof.
move=> N2 R1 k1; have h1 : (0 < uphalf k)%N by rewrite -(prednK k1).
rewrite /T2e_model /t2e; move: (uphalf k) (k./2) halves h1 => h s; move: (k) => k' hs; case: k' / hs => h1 x w a.
have size_u : size (take h w) == h by rewrite size_takel // size_tuple leq_addr.
have size_v : size (drop h w) == s by rewrite size_drop size_tuple addKn.
have -> : w = cat_tuple (Tuple size_u) (Tuple size_v) by apply/val_inj; rewrite /= cat_take_drop.
exact: answered.
Qed.

(** d is R^⌈k/2⌉·⌈log2 N⌉, tied (R^⌈k/2⌉ + R^⌊k/2⌋)·⌈log2 N⌉, or what relation tokens need; the width 2·R^k·⌈log2 N⌉. *)
Theorem T2e_size (g : bijections N R) : (1 <= R)%N ->
  dimension (t2e N R k tied (table g)) =
    maxn (minn 2 (R - 1) + ((1 < R) && (1 < k)) + 1)%N ((R ^ uphalf k + (if tied then R ^ k./2 else 0)) * up_log 2 N)%N
  /\ widths (T2e_model g) = [:: (2 * R ^ k * up_log 2 N)%N].
Proof.
move=> R1; rewrite /widths /T2e_model /t2e /= /middle_dimension halves; split.
  rewrite /coordinates_needed /columns /placed add0n; congr (maxn _ _); case: (tied).
    by rewrite -mulnDl; apply/maxn_idPl; rewrite leq_mul2r leq_addr orbT.
  rewrite add0n addn0; apply/maxn_idPr; rewrite leq_mul2r leq_pexp2l ?orbT //.
  by rewrite uphalf_half leq_addl.
have -> : (R ^ k = R ^ uphalf k * R ^ k./2)%N by rewrite -expnD halves.
by congr [:: _]; rewrite /code_bits; move: (R ^ _)%N (R ^ _)%N (up_log _ _) => a b c; lia.
Qed.

(** Entries of subject table and read-out are -1, 0 and +1. *)
Theorem T2e_entries (g : bijections N R) a j :
  (W_E (T2e_model g) (lshift R a) j \in [:: -1; 0; 1]) && (W_U (T2e_model g) j a \in [:: -1; 0; 1]).
Proof.
have one n i : (sign n i)%:~R \in [:: -1; 0; 1 : F] by rewrite /sign; case: bit; rewrite !inE eqxx ?orbT.
have three (b c : bool) n i n' i' : (if b then sign n i else if c then sign n' i' else 0)%:~R \in [:: -1; 0; 1 : F].
  by case: b; case: c; rewrite ?one // !inE eqxx orbT.
by rewrite col_mxEu !mxE /= !three.
Qed.

(** Nothing but the subject table and the read-out depends on the facts. *)
Theorem T2e_frozen (g g' : bijections N R) :
  exists E U, T2e_model g' = with_readout (with_subjects (T2e_model g) E) U.
Proof.
exists (usubmx (W_E (T2e_model g'))), (W_U (T2e_model g')).
by rewrite /with_readout /with_subjects /T2e_model /over /over_with /= col_mxKd col_mxKu.
Qed.
End Theorems.

(** Tied: the read-out is the subject table. *)
Theorem T2e_tied_rows (F : realFieldType) (N R k : nat) (g : bijections N R) :
  W_U (T2e_model F k true g) = (usubmx (W_E (T2e_model F k true g)))^T.
Proof.
apply/matrixP=> j a; rewrite [RHS]mxE col_mxKu !mxE /=; by case: (ltnP j (R ^ uphalf k * code_bits N)).
Qed.

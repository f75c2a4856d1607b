(** * Softmax attention over an ordered field, with x = exp(-β) as an element.

    The model's function e stands for s |-> exp(βs); all that is used of it is [exponential]: it is positive, and a
    score lower by 1 has x times the value, 0 < x <= 1. A head whose target scores above all other positions by m
    gives each of these a weight of at most x^m ([gap_weight]), so that it hands on the target's row up to
    (positions - 1)·x^m·spread ([softmax_near]). A code moved by less than 1/2 in each coordinate is still read out
    ([read_near]). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** e is s |-> exp(βs) at steps of 1, with x = exp(-β). *)
Definition exponential (F : realFieldType) (e : F -> F) (x : F) : Prop :=
  [/\ 0 < x, x <= 1, forall s, 0 < e s & forall s, e (s - 1) = x * e s].

(** The same weights, with softmax attention. *)
Definition softened (W : weights) : weights :=
  {| dimension := dimension W; subject := subject W; relation := relation W; position := position W;
     layers := layers W; unembed := unembed W; unbias := unbias W;
     attends := Softmax; adds := adds W; masked := masked W |}.

Section Softmax.
Variables (F : realFieldType) (e : F -> F) (x : F).
Hypothesis e_exp : exponential e x.

Lemma e_below s m : e (s - m%:R) = x ^+ m * e s.
Proof.
have [_ _ _ step] := e_exp; elim: m => [|m IH]; first by rewrite subr0 mul1r.
by rewrite -[m.+1]addn1 natrD opprD addrA step IH exprD expr1 mulrCA mulrA.
Qed.

Lemma gap_weight (a c : int) (m : nat) : a + m%:Z <= c -> e a%:~R <= x ^+ m * e c%:~R.
Proof.
have [x0 x1 e0 _] := e_exp => gap.
have [m' -> m_m'] : exists2 m' : nat, a = c - m'%:Z & (m <= m')%N by exists `|c - a|%N; lia.
rewrite rmorphB /= -pmulrn e_below ler_wpmul2r //; first exact: ltW.
by rewrite ler_wiexpn2l // ltW.
Qed.

Lemma softmax_near n d (sc : 'M[F]_n.+1) (stream : 'M[F]_(n.+1, d)) (t target : 'I_n.+1) j (y D : F) :
    (forall s, s != target -> e (sc t s) <= y * e (sc t target)) -> 0 <= y ->
    (forall s, `|stream s j - stream target j| <= D) ->
  `|(pattern Softmax false e sc *m stream) t j - stream target j| <= n%:R * (y * D).
Proof.
have [_ _ e0 _] := e_exp => gap y0 spread.
pose total := \sum_s e (sc t s).
have total0 : 0 < total.
  by rewrite /total (bigD1 t) //= ltr_paddr // sumr_ge0 // => s _; exact: ltW.
pose weight s := e (sc t s) / total.
have weight0 s : 0 <= weight s by rewrite divr_ge0 // ltW.
have weight1 : \sum_s weight s = 1 by rewrite -mulr_suml divff // gt_eqF.
have -> : (pattern Softmax false e sc *m stream) t j - stream target j =
    \sum_(s | s != target) weight s * (stream s j - stream target j).
  transitivity (\sum_s weight s * (stream s j - stream target j)); last first.
    by rewrite (bigD1 target) //= subrr mulr0 add0r.
  under [RHS]eq_bigr => s _ do rewrite mulrBr.
  by rewrite sumrB -mulr_suml weight1 mul1r !mxE; congr (_ - _); apply: eq_bigr => s _; rewrite !mxE.
have D0 : 0 <= D by apply: le_trans (spread target); rewrite normr_ge0.
apply: le_trans (ler_norm_sum _ _ _) _.
apply: (@le_trans _ _ (\sum_(s | s != target) y * D)).
  apply: ler_sum => s other; rewrite normrM (ger0_norm (weight0 s)) ler_pmul //.
  rewrite ler_pdivr_mulr // (le_trans (gap s other)) // ler_wpmul2l //.
  by rewrite /total (bigD1 target) //= ler_addl sumr_ge0 // => s' _; exact: ltW.
by rewrite sumr_const cardC1 card_ord mulr_natl.
Qed.
End Softmax.

(** ** Reading out a code that has moved *)

Lemma moved (F : realFieldType) (z A C : F) :
  z * (2 * A) - A ^+ 2 - (z * (2 * C) - C ^+ 2) = (A - C) ^+ 2 + 2 * (z - A) * (A - C).
Proof.
rewrite opprD opprK addrACA -mulrBr -mulrBr (addrC _ (C ^+ 2)) subr_sqr -(opprB A C) mulNr.
have -> : C + A = A + A - (A - C) by rewrite opprB -addrA [A + (C - A)]addrC subrK addrC.
move: (A - C) => D; rewrite [D * _]mulrBr opprB addrCA -expr2; congr (_ + _).
have -> : D * (A + A) = 2 * (A * D) by rewrite -[A + A]mulr2n -mulr_natl mulrCA [D * A]mulrC.
by rewrite mulrCA -mulrBr -mulrBl mulrA.
Qed.

(** A difference of whole digits outweighs the move. *)
Lemma small_move (F : realFieldType) (t : F) (D : int) : 2 * `|t| < 1 -> D != 0 -> 0 < D%:~R ^+ 2 + 2 * t * D%:~R.
Proof.
move=> small D0; rewrite -ltr_subl_addr sub0r; apply: le_lt_trans (ler_norm _) _.
rewrite normrN !normrM (ger0_norm (ler0n F 2)); apply: (@lt_le_trans _ _ `|D%:~R|).
  by rewrite -[X in _ < X]mul1r ltr_pmul2r // normr_gt0 intr_eq0.
by rewrite -intr_norm -rmorphX ler_int; nia.
Qed.

(** A code moved by less than 1/2 in each coordinate has the largest logit still. *)
Lemma read_near (F : realFieldType) N b d (a c : 'I_N) (v : nat -> F) : (0 < b)%N -> (code_digits N b <= d)%N -> c != a ->
    (forall i, (i < code_digits N b)%N -> 2 * `|v i - (digit b a i)%:R| < 1) ->
  \sum_(i < d) v i * (readout_by_distance b (code_digits N b) i c)%:~R +
    (bias_by_distance b (code_digits N b) c)%:~R <
  \sum_(i < d) v i * (readout_by_distance b (code_digits N b) i a)%:~R +
    (bias_by_distance b (code_digits N b) a)%:~R.
Proof.
set q := code_digits N b => b0 q_d differ near.
have cut u : \sum_(i < d) v i * (readout_by_distance b q i u)%:~R + (bias_by_distance b q u)%:~R =
    \sum_(i < q) (v i * (2 * (digit b u i)%:R) - (digit b u i)%:R ^+ 2).
  rewrite sumrB /bias_by_distance sumE rmorphN rmorph_sum /=; congr (_ - _); last first.
    by apply: eq_bigr => i _; rewrite rmorphX.
  rewrite (big_ord_widen _ (fun i => v i * (2 * (digit b u i)%:R)) q_d) [RHS]big_mkcond.
  by apply: eq_bigr => i _; rewrite /readout_by_distance; case: ifP => _; rewrite ?rmorph0 ?mulr0 // rmorphM.
rewrite !cut -subr_gt0 -sumrB {cut}.
under eq_bigr => i _ do rewrite moved.
have place (i : 'I_q) : (digit b a i)%:R - (digit b c i)%:R = ((digit b a i)%:Z - (digit b c i)%:Z)%:~R :> F.
  by rewrite rmorphB.
have [i0 differ_i] := digits_differ b0 differ.
rewrite (bigD1 i0) //= ltr_paddr //.
  apply: sumr_ge0 => i _; rewrite place.
  have [->|D0] := eqVneq ((digit b a i)%:Z - (digit b c i)%:Z) 0; first by rewrite expr0n mulr0 addr0.
  by rewrite ltW // small_move ?near.
by rewrite place small_move ?near //; move: differ_i; rewrite subr_eq0 eqz_nat eq_sym.
Qed.

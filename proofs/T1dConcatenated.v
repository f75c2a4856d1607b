(** * T1d. The exact minimum of the dimension: concatenation. Mirrors
    [constructions.weights.t1d.construct_concatenated].

    For all N >= 2, R >= 1, b >= 1 and any R maps of N entities (permutations or not): d = ⌈R·⌈log2 N⌉ / b⌉, subject
    entries in 0..2^b - 1, width at most 2^b·(d + R - 1), all N·R queries answered with margin at least 1; nothing but
    the subject table depends on the facts. Idea: the R·p bits of the answers are one string, cut into digits of b bits,
    which may hold bits of several relations. Relation r adds t·2^b to the digits in which it is the t-th, and -2^b to
    those without a bit of it; what a digit contributes to the answer is a function on 0 .. n·2^b - 1, a sum of kinks.

    Main theorems: [T1d_concatenated], [T1d_concatenated_size], [T1d_concatenated_entries],
    [T1d_concatenated_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Kinks T1d.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

Section Weights.
Variables (N R b : nat).
Let p := code_bits N.
Let B := (2 ^ b)%N.

Definition string_digits : nat := ((R * p + b.-1) %/ b)%N.

(** The first and the last relation with a bit in a digit. *)
Definition first_in (i : nat) : nat := (i * b %/ p)%N.
Definition last_in (i : nat) : nat := minn R.-1 ((i * b + b.-1) %/ p).
Definition sharers (i : nat) : nat := (last_in i - first_in i).+1.

(** What value v of digit i contributes to the answer of relation r: its bits, each at its place. *)
Definition part (i r v : nat) : nat :=
  foldr (fun t s => ((if r * p <= i * b + t < r * p + p then bit v t * 2 ^ (i * b + t - r * p) else 0) + s)%N) 0%N
    (iota 0 b).
Definition contribution (i s : nat) : int := part i (first_in i + s %/ B) (s %% B).

(** The hidden units: digit and kink. *)
Definition digit_units (i : nat) : seq (nat * nat) := [seq (i, j) | j <- kinks (contribution i) (sharers i * B)].

Definition t1d_concatenated (g : nat -> nat -> nat) : weights :=
  let units := flatten [seq digit_units i | i <- iota 0 string_digits] in
  t1d string_digits (size units) (fun x => digit b (answers_index R (2 ^ p) g x))
    (fun r i => if (first_in i <= r <= last_in i)%N then (B * (r - first_in i))%N%:Z else - B%:Z)
    (fun i u => if ((nth (0%N, 0%N) units u).1 == i)%N then 1 else 0)
    (fun u => (nth (0%N, 0%N) units u).2)
    (fun u => change (contribution (nth (0%N, 0%N) units u).1) (nth (0%N, 0%N) units u).2).
End Weights.

Section Digits.
Variables (N R b : nat).
Hypotheses (N2 : (1 < N)%N) (R1 : (0 < R)%N) (b1 : (0 < b)%N).
Let p := code_bits N.
Let B := (2 ^ b)%N.
Let d := string_digits N R b.

Let p0 : (0 < p)%N.
Proof. exact: code_bits_gt0. Qed.

Let B0 : (0 < B)%N.
Proof. by rewrite expn_gt0. Qed.

Lemma string_least m : (d <= m)%N = (R * p <= m * b)%N.
Proof.
rewrite /d /string_digits -/p.
by have := divn_eq (R * p + b.-1) b; have := ltn_pmod (R * p + b.-1) b1; nia.
Qed.

Lemma place_in i : (i < d)%N -> (i * b < R * p)%N.
Proof. by move=> i_d; rewrite ltnNge -string_least -ltnNge. Qed.

Lemma partE i r v : part N b i r v =
  (\sum_(t < b) if r * p <= i * b + t < r * p + p then bit v t * 2 ^ (i * b + t - r * p) else 0)%N.
Proof.
rewrite /part -/p; pose f t := (if r * p <= i * b + t < r * p + p then bit v t * 2 ^ (i * b + t - r * p) else 0)%N.
by rewrite -(big_mkord xpredT f) unlock /reducebig /index_iota subn0.
Qed.

(** A digit that holds no bit of a relation contributes nothing to it. *)
Lemma part_other i r v : (i < d)%N -> (r < R)%N -> ~~ (first_in N b i <= r <= last_in N R b i)%N -> part N b i r v = 0%N.
Proof.
move=> i_d r_R out; rewrite partE big1 // => t _; case: ifP => // /andP[lo hi]; case/negP: out.
have t_b := ltn_ord t; rewrite /first_in /last_in -/p leq_min -ltnS ltn_divLR // leq_divRL // mulSn.
by apply/andP; split; [lia | apply/andP; split; lia].
Qed.

(** The parts add up to the answer. *)
Lemma parts_sum n r : (n < (2 ^ p) ^ R)%N -> (r < R)%N ->
  (\sum_(i < d) part N b i r (digit b n i) = n %/ (2 ^ p) ^ r %% 2 ^ p)%N.
Proof.
move=> n_lt r_R; set a := (_ %% _)%N.
have a_lt : (a < 2 ^ p)%N by rewrite ltn_pmod ?expn_gt0.
pose f T := (if r * p <= T < r * p + p then bit n T * 2 ^ (T - r * p) else 0)%N.
have grid m : (\sum_(0 <= T < m * b) f T = \sum_(i < m) \sum_(t < b) f (i * b + t))%N.
  elim: m => [|m IH]; first by rewrite mul0n big_geq // big_ord0.
  rewrite mulSnr (@big_cat_nat _ _ _ (m * b)) ?leq_addr //= IH big_ord_recr /=; congr (_ + _)%N.
  rewrite -{1}[(m * b)%N]add0n (addnC (m * b)%N) big_addn addnK big_mkord.
  by apply: eq_bigr => t _; rewrite addnC.
transitivity (\sum_(i < d) \sum_(t < b) f (i * b + t))%N.
  apply: eq_bigr => i _; rewrite partE -/p; apply: eq_bigr => t _; rewrite /f; case: ifP => // _; congr (_ * _)%N.
  by rewrite /digit -expnM bit_mod // bit_div mulnC.
rewrite -grid; have long : (r * p + p <= d * b)%N.
  by rewrite -mulSnr (leq_trans _ (_ : R * p <= d * b)%N) ?leq_mul2r ?r_R ?orbT // -string_least.
rewrite (@big_cat_nat _ _ _ (r * p)) //=; last by lia.
rewrite big_nat_cond big1 ?add0n => [|T /andP[/andP[_ T_lt] _]]; last by rewrite /f leqNgt T_lt.
rewrite (@big_cat_nat _ _ _ (r * p + p)) ?leq_addr //= [X in (_ + X)%N]big_nat_cond.
rewrite [X in (_ + X)%N]big1 ?addn0 => [|T /andP[/andP[T_ge _] _]]; last by rewrite /f ltnNge T_ge andbF.
rewrite -{1}[(r * p)%N]add0n (addnC _ p) big_addn addnK big_mkord -[RHS](bits_sum a_lt); apply: eq_bigr => u _.
by rewrite (addnC u) /f leq_addr ltn_add2l ltn_ord /= addKn /a -expnM bit_mod // bit_div (mulnC p).
Qed.

(** What the hidden units of a digit add up to: its part of the answer. *)
Lemma unit_sum i (r : 'I_R) v : (i < d)%N -> (v < B)%N ->
  \sum_(u < size (kinks (contribution N b i) (sharers N R b i * B)))
    Num.max 0 (v%:Z + (if (first_in N b i <= r <= last_in N R b i)%N then (B * (r - first_in N b i))%N%:Z else - B%:Z) -
      (nth 0%N (kinks (contribution N b i) (sharers N R b i * B)) u)%:Z) *
    change (contribution N b i) (nth 0%N (kinks (contribution N b i) (sharers N R b i * B)) u) = part N b i r v.
Proof.
move=> i_d v_B; case: ifP => [/andP[lo hi]|/negbT out]; last by rewrite kinks_below ?part_other //; lia.
have s_lt : (B * (r - first_in N b i) + v < sharers N R b i * B)%N by rewrite /sharers; nia.
have -> : v%:Z + (B * (r - first_in N b i))%N%:Z = (B * (r - first_in N b i) + v)%N%:Z by rewrite addrC.
rewrite kinks_sum //.
have at_digit : ((B * (r - first_in N b i) + v) %/ B = r - first_in N b i)%N.
  by rewrite mulnC divnMDl // divn_small // addn0.
have at_value : ((B * (r - first_in N b i) + v) %% B = v)%N by rewrite mulnC modnMDl modn_small.
rewrite /contribution -/B at_digit at_value subnKC // div0n mod0n addn0.
rewrite [part N b i _ 0](_ : _ = 0%N) ?subr0 // partE big1 // => t _.
by rewrite /bit div0n mul0n if_same.
Qed.

(** The numbers of relations with bits in a digit add up to at most d + R - 1. *)
Lemma sharers_sum : (\sum_(i < d) sharers N R b i <= d + R.-1)%N.
Proof.
have step m : (0 < m <= d)%N -> (\sum_(i < m) sharers N R b i <= m + last_in N R b m.-1)%N.
  elim: m => // m IH /andP[_ m_d]; rewrite big_ord_recr /=.
  have [->|m0] := posnP m; first by rewrite big_ord0 /sharers; lia.
  have before : (last_in N R b m.-1 <= first_in N b m)%N.
    rewrite /last_in /first_in -/p geq_min leq_div2r ?orbT // -{2}(prednK m0) mulSn; lia.
  have inside : (first_in N b m <= last_in N R b m)%N.
    rewrite /first_in /last_in -/p leq_min leq_div2r ?leq_addr // andbT -ltnS prednK // ltn_divLR //; exact: place_in.
  have m_d' : (0 < m <= d)%N by rewrite m0 ltnW.
  have few := IH m_d'; rewrite [sharers _ _ _ m]/sharers; move: (\sum_(i < m) _)%N few => few; lia.
have [->|d0] := posnP d; first by rewrite big_ord0.
by rewrite (leq_trans (step _ _)) ?d0 ?leqnn // leq_add2l /last_in geq_minl.
Qed.
End Digits.

(** ** The theorems *)

Section Theorems.
Variables (F : realFieldType) (N R b : nat).

Definition T1d_concatenated_model (g : fact_system N R) := over F N R N (t1d_concatenated N R b (table g)).

Lemma units_all (f : nat -> nat -> int) d :
  let units := flatten [seq digit_units N R b i | i <- iota 0 d] in
  \sum_(u < size units) f (nth (0%N, 0%N) units u).1 (nth (0%N, 0%N) units u).2%N =
  \sum_(i < d) \sum_(u < size (kinks (contribution N b i) (sharers N R b i * 2 ^ b)))
    f i (nth 0%N (kinks (contribution N b i) (sharers N R b i * 2 ^ b)) u).
Proof.
move=> units; rewrite -(big_mkord xpredT (fun u => f (nth (0%N, 0%N) units u).1 (nth (0%N, 0%N) units u).2)%N).
rewrite -(big_nth (0%N, 0%N) xpredT (fun u => f u.1 u.2)) big_flatten big_map -[in LHS](subn0 d) big_mkord.
apply: eq_bigr => i _; rewrite big_map (big_nth 0%N) big_mkord.
by apply: eq_bigr => u _.
Qed.

(** All queries are answered with margin at least 1. *)
Theorem T1d_concatenated (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= b)%N ->
  answers_all_with_margin (T1d_concatenated_model g) 1 1 g.
Proof.
move=> N2 R1 b1; have p0 := code_bits_gt0 N2.
have d0 : (0 < string_digits N R b)%N by rewrite ltnNge string_least // mul0n -ltnNge muln_gt0 R1.
have N_p : (N <= 2 ^ code_bits N)%N by apply: up_logP.
apply: t1d_answers => // x r; pose n := answers_index R (2 ^ code_bits N) (table g) x.
have n_lt : (n < (2 ^ code_bits N) ^ R)%N by apply: answers_index_lt.
rewrite -(answers_index_digit g x r N_p) -/n -(parts_sum N2 R1 b1 n_lt (ltn_ord r)) /added.
pose f i j := Num.max 0 ((digit b n i)%:Z + (if (first_in N b i <= r <= last_in N R b i)%N then
  (2 ^ b * (r - first_in N b i))%N%:Z else - (2 ^ b)%N%:Z) - j%:Z) * change (contribution N b i) j.
rewrite (big_morph Posz PoszD (erefl 0%:Z)).
transitivity (\sum_(i < string_digits N R b) \sum_(u < size (kinks (contribution N b i) (sharers N R b i * 2 ^ b)))
    f i (nth 0%N (kinks (contribution N b i) (sharers N R b i * 2 ^ b)) u)).
  rewrite -units_all; apply: eq_bigr => u _; rewrite /f; congr (Num.max 0 (_ - _) * _).
  set i := (nth _ _ u).1; have i_d : (i < string_digits N R b)%N.
    have := mem_nth (0%N, 0%N) (ltn_ord u) => /flatten_mapP[i']; rewrite mem_iota => /andP[_ i'_d] /mapP[j _ e].
    by rewrite /i e.
  rewrite (bigD1 (Ordinal i_d)) //= eqxx mulr1 big1 ?addr0 // => i' differ.
  by rewrite -/i [(i == i')%N]eq_sym -[(i' == i :> nat)%N]/(i' == Ordinal i_d) (negbTE differ) mulr0.
by apply: eq_bigr => i _; rewrite -(unit_sum N2 R1 b1 r (ltn_ord i) (digit_lt b n i)).
Qed.

(** d = ⌈R·⌈log2 N⌉ / b⌉, and one block, of width at most 2^b·(d + R - 1). *)
Theorem T1d_concatenated_size (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= b)%N ->
  (forall d, (dimension (t1d_concatenated N R b (table g)) <= d)%N = (R * up_log 2 N <= d * b)%N) /\
  exists2 w, widths (T1d_concatenated_model g) = [:: w] &
    (w <= 2 ^ b * (dimension (t1d_concatenated N R b (table g)) + R - 1))%N.
Proof.
move=> N2 R1 b1; split=> [d|]; first exact: string_least.
eexists; first by []; rewrite /= size_flatten /shape -map_comp sumnE big_map -[in X in (X <= _)%N](subn0 (string_digits N R b)).
rewrite big_mkord; have := sharers_sum N2 R1 b1; set d := string_digits N R b => few.
apply: (@leq_trans (\sum_(i < d) sharers N R b i * 2 ^ b)).
  by apply: leq_sum => i _; rewrite /= size_map (leq_trans (size_kinks _ _)) ?leq_pred.
by rewrite -big_distrl /= [leqLHS]mulnC leq_mul2l /= (leq_trans few) ?orbT //; lia.
Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T1d_concatenated_entries (g : fact_system N R) x j :
  exists v : 'I_(2 ^ b), W_E (T1d_concatenated_model g) (lshift R x) j = (v : nat)%:R.
Proof. by exists (Ordinal (digit_lt b (answers_index R (2 ^ code_bits N) (table g) x) j)); rewrite col_mxEu mxE. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T1d_concatenated_universal : universal T1d_concatenated_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T1d_concatenated_model /over /over_with /= col_mxKd. Qed.
End Theorems.

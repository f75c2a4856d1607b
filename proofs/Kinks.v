(** * Functions on integers as sums of kinks, and tuples of answers as one number ([constructions/weights/t1d.py]).

    A function f on 0 .. L-1 is f(0) plus the sum of κ_j·ReLU(s - j), κ_j its second difference at j, κ_0 the first
    difference; the kinks are the j with κ_j ≠ 0 ([kinks_sum]). A list of numbers below a base is one number
    ([horner]), whose digits it is again ([horner_digit]); a number is the sum of its digits, each at its place
    ([digits_sum], [bits_sum]). The read-out 2a·h - a² has margin 1 at every integer ([read_number]). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Kinks *)

Definition change (f : nat -> int) (j : nat) : int := f j.+1 - f j - (if j is i.+1 then f j - f i else 0).
Definition kinks (f : nat -> int) (L : nat) : seq nat := [seq j <- iota 0 L.-1 | change f j != 0].

Lemma kinks_all f L (F : nat -> int) :
  \sum_(u < size (kinks f L)) F (nth 0%N (kinks f L) u) * change f (nth 0%N (kinks f L) u) =
  \sum_(j < L.-1) F j * change f j.
Proof.
rewrite -(big_mkord xpredT (fun u => F (nth 0%N (kinks f L) u) * change f (nth 0%N (kinks f L) u))).
rewrite -(big_nth 0%N xpredT (fun j => F j * change f j)) big_filter big_mkcond.
rewrite -(big_mkord xpredT (fun j => F j * change f j)) /index_iota subn0.
by apply: eq_bigr => j _; case: eqP => //= ->; rewrite mulr0.
Qed.

Lemma changes_sum f s : \sum_(j < s.+1) change f j = f s.+1 - f s.
Proof.
elim: s => [|s IH]; rewrite big_ord_recr /=; first by rewrite big_ord0 add0r /change subr0.
by rewrite IH /change; lia.
Qed.

Lemma kinks_first f s : \sum_(j < s) (s%:Z - j%:Z) * change f j = f s - f 0%N.
Proof.
elim: s => [|s IH]; first by rewrite big_ord0 subrr.
transitivity (\sum_(j < s) (s%:Z - j%:Z) * change f j + \sum_(j < s.+1) change f j); last first.
  by rewrite IH changes_sum; lia.
by rewrite !big_ord_recr /= addrA -big_split; congr (_ + _); [apply: eq_bigr => j _ /= |]; lia.
Qed.

(** f on 0 .. L-1, and 0 below it. *)
Lemma kinks_sum f L (s : nat) : (s < L)%N ->
  \sum_(u < size (kinks f L)) Num.max 0 (s%:Z - (nth 0%N (kinks f L) u)%:Z) * change f (nth 0%N (kinks f L) u) =
  f s - f 0%N.
Proof.
move=> s_L; rewrite (kinks_all f L (fun j => Num.max 0 (s%:Z - j%:Z))) -kinks_first.
rewrite (big_ord_widen L.-1 (fun j => (s%:Z - j%:Z) * change f j)); last by lia.
rewrite [RHS]big_mkcond /=; apply: eq_bigr => j _; case: ltnP => j_s; first by congr (_ * _); lia.
by rewrite (_ : Num.max _ _ = 0) ?mul0r //; lia.
Qed.

Lemma kinks_below f L (s : int) : s <= 0 ->
  \sum_(u < size (kinks f L)) Num.max 0 (s - (nth 0%N (kinks f L) u)%:Z) * change f (nth 0%N (kinks f L) u) = 0.
Proof. by move=> s0; rewrite big1 // => u _; rewrite (_ : Num.max _ _ = 0) ?mul0r //; lia. Qed.

Lemma size_kinks f L : (size (kinks f L) <= L.-1)%N.
Proof. by rewrite size_filter (leq_trans (count_size _ _)) ?size_iota. Qed.

(** ** Numbers and their digits *)

Definition horner (base : nat) (s : seq nat) : nat := foldr (fun a n => a + base * n)%N 0%N s.

Lemma horner_lt base s : all (fun a => a < base)%N s -> (horner base s < base ^ size s)%N.
Proof. by elim: s => //= a s IH /andP[a_lt /IH]; rewrite expnS; nia. Qed.

Lemma horner_digit base s r : all (fun a => a < base)%N s -> (r < size s)%N ->
  (horner base s %/ base ^ r %% base = nth 0 s r)%N.
Proof.
elim: s r => //= a s IH [|r] /andP[a_lt small] r_lt; first by rewrite expn0 divn1 mulnC addnC modnMDl modn_small.
have base0 : (0 < base)%N by apply: leq_ltn_trans a_lt.
by rewrite expnS divnMA addnC mulnC divnMDl // (divn_small a_lt) addn0 IH.
Qed.

Lemma digits_sum b d n : (n < (2 ^ b) ^ d)%N -> (\sum_(i < d) digit b n i * (2 ^ b) ^ i = n)%N.
Proof.
elim: d n => [|d IH] n; first by rewrite expn0 ltnS leqn0 => /eqP->; rewrite big_ord0.
move=> n_lt; rewrite big_ord_recl {1}/digit expn0 divn1 muln1 [RHS](divn_eq n (2 ^ b)) addnC; congr (_ + _)%N.
rewrite -[in RHS](IH (n %/ 2 ^ b)%N) ?ltn_divLR ?expn_gt0 // -?expnSr // big_distrl /=.
by apply: eq_bigr => i _; rewrite /digit /bump /= add1n expnS divnMA -mulnA (mulnC (2 ^ b)%N).
Qed.

Lemma bit_mod n c t : (t < c)%N -> bit (n %% 2 ^ c) t = bit n t.
Proof.
move=> t_c; rewrite /bit -(subnK (ltnW t_c)) expnD -modn_divl odd_mod //.
by rewrite oddX subn_eq0 leqNgt t_c.
Qed.

Lemma bit_div n c t : bit (n %/ 2 ^ c) t = bit n (c + t).
Proof. by rewrite /bit -divnMA -expnD. Qed.

Lemma bits_sum n p : (n < 2 ^ p)%N -> (\sum_(t < p) bit n t * 2 ^ t = n)%N.
Proof.
move=> n_lt; rewrite -[RHS](@digits_sum 1 p) // expn1; apply: eq_bigr => t _; congr (_ * _)%N.
by rewrite /bit /digit expn1 modn2.
Qed.

(** The answers of a subject as one number, in base B. *)
Definition answers_index (R base : nat) (g : nat -> nat -> nat) (x : nat) : nat := horner base [seq g r x | r <- iota 0 R].

Lemma table_lt N R (g : fact_system N R) r (x : 'I_N) : (table g r x < N)%N.
Proof. by rewrite /table; case: insubP => [r' _ _|_]; rewrite ?valK; [exact: ltn_ord | exact: leq_ltn_trans (ltn_ord x)]. Qed.

Lemma answers_small N R base (g : fact_system N R) (x : 'I_N) : (N <= base)%N ->
  all (fun a => a < base)%N [seq table g r x | r <- iota 0 R].
Proof. by move=> N_base; apply/allP=> a /mapP[r _ ->]; apply: leq_trans (table_lt g r x) N_base. Qed.

Lemma answers_index_lt N R base (g : fact_system N R) (x : 'I_N) : (N <= base)%N ->
  (answers_index R base (table g) x < base ^ R)%N.
Proof. by move=> N_base; have := horner_lt (answers_small g x N_base); rewrite size_map size_iota. Qed.

Lemma answers_index_digit N R base (g : fact_system N R) (x : 'I_N) (r : 'I_R) : (N <= base)%N ->
  (answers_index R base (table g) x %/ base ^ r %% base = g r x)%N.
Proof.
move=> N_base; rewrite (horner_digit (answers_small g x N_base)) ?size_map ?size_iota //.
by rewrite (nth_map 0%N) ?size_iota // nth_iota // table_ord.
Qed.

(** ** The answer in coordinate 0, read out by its distance *)

Definition readout_number (j a : nat) : int := if j is 0 then 2 * a%:Z else 0.
Definition bias_number (a : nat) : int := - a%:Z ^+ 2.

Lemma read_number d (v : nat -> int) (a c : nat) : (0 < d)%N -> c != a -> v 0%N = a ->
  \sum_(j < d) v j * readout_number j c + bias_number c + 1 <= \sum_(j < d) v j * readout_number j a + bias_number a.
Proof.
case: d => // d _ differ v_a.
have only e : \sum_(j < d.+1) v j * readout_number j e = v 0%N * (2 * e%:Z).
  by rewrite big_ord_recl big1 ?addr0 // => i _; rewrite /= mulr0.
by rewrite !only v_a /bias_number; case: (ltngtP c a) differ => // lt _; nia.
Qed.

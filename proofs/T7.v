(** * T7. Subject rows are superpositions. Mirrors [constructions/suite/t7.py].

    In T1, T1b, T1d (concatenated), T2, T3 and T6 the row of x is Σ_w c(g_w(x))·A_w + constant, over the single
    relations w (T2: the words of k relations), c the sign code; A and the constant are the same for all fact systems
    and all x, so that a linear read-out of the codes leaves no error: R² = 1. Idea: each entry of a row is a sign or a
    digit of one code, or bits of several codes, each at its place; a bit is half its sign and a half.

    Main theorems: [T7_T1], [T7_T1b], [T7_T1d_concatenated], [T7_T2], [T7_T3_parabola], [T7_T3_signs], [T7_T6]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Kinks T1 T1b T1d T1dConcatenated T2 T3 T3Parabola T3Signs T6.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Superposition.
Variables (F : realFieldType) (N R : nat).

(** c(a) as a row of p signs. *)
Definition code_row (a : nat) : 'rV[F]_(code_bits N) := \row_u (sign a u)%:~R.

(** Subject rows are affine in the codes of the answers to words of k relations. *)
Definition superposition (k answers d : nat) (construct : fact_system N R -> transformer F N R answers d) : Prop :=
  exists (A : k.-tuple 'I_R -> 'M[F]_(code_bits N, d)) (constant : 'rV[F]_d), forall g x,
    row (lshift R x) (W_E (construct g)) = \sum_(w : k.-tuple _) code_row (follow g w x) *m A w + constant.

(** ** One coordinate *)

Definition affine (k : nat) (f : fact_system N R -> 'I_N -> F) : Prop :=
  exists (p : (k.-tuple 'I_R -> 'I_(code_bits N) -> F) * F), forall g x,
    f g x = \sum_(w : k.-tuple _) \sum_(u < code_bits N) (sign (follow g w x) u)%:~R * p.1 w u + p.2.

Lemma affine_rows k answers d (construct : fact_system N R -> transformer F N R answers d) :
  (forall j, affine k (fun g x => W_E (construct g) (lshift R x) j)) -> superposition k construct.
Proof.
move/fin_all_exists => [p p_j]; exists (fun w => \matrix_(u, j) (p j).1 w u), (\row_j (p j).2) => g x.
apply/rowP=> j; rewrite mxE p_j !mxE summxE; congr (_ + _); apply: eq_bigr => w _; rewrite mxE.
by apply: eq_bigr => u _; rewrite !mxE.
Qed.

Section Closure.
Variable k : nat.

Lemma affine_eq f f' : (forall g x, f g x = f' g x) -> affine k f' -> affine k f.
Proof. by move=> same [p p_f]; exists p => g x; rewrite same. Qed.

Lemma affine_const c : affine k (fun _ _ => c).
Proof. by exists (fun _ _ => 0, c) => g x; rewrite big1 ?add0r // => w _; rewrite big1 // => u _; rewrite mulr0. Qed.

Lemma affine_add f f' : affine k f -> affine k f' -> affine k (fun g x => f g x + f' g x).
Proof.
move=> [p p_f] [p' p_f']; exists (fun w u => p.1 w u + p'.1 w u, p.2 + p'.2) => g x.
rewrite p_f p_f' addrACA -big_split; congr (_ + _); apply: eq_bigr => w _; rewrite -big_split.
by apply: eq_bigr => u _; rewrite mulrDr.
Qed.

Lemma affine_scale f c : affine k f -> affine k (fun g x => f g x * c).
Proof.
move=> [p p_f]; exists (fun w u => p.1 w u * c, p.2 * c) => g x.
rewrite p_f mulrDl mulr_suml; congr (_ + _); apply: eq_bigr => w _; rewrite mulr_suml.
by apply: eq_bigr => u _; rewrite mulrA.
Qed.

Lemma affine_sum n (f : nat -> fact_system N R -> 'I_N -> F) :
  (forall i, (i < n)%N -> affine k (f i)) -> affine k (fun g x => \sum_(i < n) f i g x).
Proof.
elim: n => [|n IH] f_i; first by apply: affine_eq (affine_const 0) => g x; rewrite big_ord0.
apply: (affine_eq (f' := fun g x => \sum_(i < n) f i g x + f n g x)) => [g x|]; first by rewrite big_ord_recr.
by apply: affine_add; [apply: IH => i i_n; apply: f_i; exact: ltnW | apply: f_i].
Qed.

Lemma affine_sign (w : k.-tuple 'I_R) u : (u < code_bits N)%N -> affine k (fun g x => (sign (follow g w x) u)%:~R).
Proof.
move=> u_p; exists (fun w' (u' : 'I_(code_bits N)) => if (w' == w) && (u' == u :> nat) then 1 else 0, 0) => g x.
rewrite (bigD1 w) //= [X in _ + X + _]big1 => [|w' /negbTE differ]; last first.
  by rewrite big1 // => u' _; rewrite differ mulr0.
rewrite !addr0 (bigD1 (Ordinal u_p)) //= !eqxx mulr1 big1 ?addr0 // => u' /negbTE differ.
by rewrite -[(u' == u :> nat)]/(u' == Ordinal u_p) differ mulr0.
Qed.

Lemma affine_bit (w : k.-tuple 'I_R) u : affine k (fun g x => (bit (follow g w x) u)%:R).
Proof.
have [u_p|p_u] := ltnP u (code_bits N); last first.
  apply: affine_eq (affine_const 0) => g x; rewrite /bit divn_small //.
  by apply: leq_trans (code_bits_small _) _; rewrite leq_exp2l.
apply: affine_eq (affine_scale 2^-1 (affine_add (affine_sign w u_p) (affine_const 1))) => g x.
by rewrite /sign; case: bit; rewrite ?addNr ?mul0r // -[_ + _]/(2%:R) mulfV // pnatr_eq0.
Qed.

Lemma affine_digit (w : k.-tuple 'I_R) b v : affine k (fun g x => (digit b (follow g w x) v)%:R).
Proof.
apply: (affine_eq (f' := fun g x => \sum_(t < b) (bit (follow g w x) (v * b + t))%:R * (2 ^ t)%:R)) => [g x|].
  rewrite -[in LHS](bits_sum (digit_lt b (follow g w x) v)) natr_sum; apply: eq_bigr => t _; rewrite natrM.
  by rewrite /digit -expnM bit_mod // bit_div mulnC.
apply: (affine_sum (f := fun t g x => (bit (follow g w x) (v * b + t))%:R * (2 ^ t)%:R)) => t _.
by apply: affine_scale; apply: affine_bit.
Qed.
End Closure.

(** ** The theorems *)

(** A relation as a word, and a number of a word as a word. *)
Lemma affine_table (r v : nat) (h : nat -> nat -> int) : (r < R)%N ->
  (forall w : 1.-tuple 'I_R, affine 1 (fun g x => (h (follow g w x) v)%:~R)) ->
  affine 1 (fun g x => (h (table g r x) v)%:~R).
Proof.
by move=> r_R; move/(_ [tuple Ordinal r_R]); apply: affine_eq => g x; rewrite /= -[r]/(val (Ordinal r_R)) table_ord.
Qed.

Lemma block_lt n q j : (j < n * q)%N -> (j %/ q < n)%N.
Proof. by move=> j_lt; rewrite ltn_divLR //; case: q j_lt => //; rewrite muln0. Qed.

Lemma place_lt n q j : (j < n * q)%N -> (j %% q < q)%N.
Proof. by move=> j_lt; rewrite ltn_pmod //; case: q j_lt => //; rewrite muln0. Qed.

Lemma affine_block_signs j : (j < R * code_bits N)%N ->
  affine 1 (fun g x => (sign (table g (j %/ code_bits N) x) (j %% code_bits N))%:~R).
Proof.
by move=> j_lt; apply: affine_table (block_lt j_lt) _ => w; apply: affine_sign; apply: place_lt j_lt.
Qed.

Lemma affine_block_digits b j : (j < R * code_digits N b)%N ->
  affine 1 (fun g x => (digit b (table g (j %/ code_digits N b) x) (j %% code_digits N b))%:Z%:~R).
Proof.
move=> j_lt; apply: (affine_table (h := fun a v => (digit b a v)%:Z)) (block_lt j_lt) _ => w.
exact: affine_digit.
Qed.

Theorem T7_T1 res : superposition 1 (T1_model F res (N := N) (R := R)).
Proof.
by apply: affine_rows => j; apply: affine_eq (affine_block_signs (ltn_ord j)) => g x; rewrite col_mxEu mxE.
Qed.

Theorem T7_T1b b : superposition 1 (T1b_model F b (N := N) (R := R)).
Proof.
by apply: affine_rows => j; apply: affine_eq (affine_block_digits (ltn_ord j)) => g x; rewrite col_mxEu mxE.
Qed.

Theorem T7_T3_parabola k b : superposition 1 (T3_parabola_model F k b (N := N) (R := R)).
Proof.
apply: affine_rows => j; have [j_e|e_j] := ltnP j (R * code_digits N b).
  by apply: affine_eq (affine_block_digits j_e) => g x; rewrite col_mxEu mxE /= j_e.
by apply: affine_eq (affine_const 1 0) => g x; rewrite col_mxEu mxE /= ltnNge e_j.
Qed.

Theorem T7_T3_signs k b : superposition 1 (T3_signs_model F k b (N := N) (R := R)).
Proof.
apply: affine_rows => j; have [j_e|e_j] := ltnP j (R * code_digits N b).
  by apply: affine_eq (affine_block_digits j_e) => g x; rewrite col_mxEu mxE /= j_e.
by apply: affine_eq (affine_const 1 0) => g x; rewrite col_mxEu mxE /= ltnNge e_j.
Qed.

Theorem T7_T6 : superposition 1 (T6_model F (N := N) (R := R)).
Proof.
apply: affine_rows => j; have [j_e|e_j] := ltnP j (R * code_bits N).
  by apply: affine_eq (affine_block_signs j_e) => g x; rewrite col_mxEu mxE /= j_e.
by apply: affine_eq (affine_const 1 0) => g x; rewrite col_mxEu mxE /= ltnNge e_j.
Qed.

Theorem T7_T2 k b : (1 <= R)%N -> superposition k (T2_model F k b (N := N) (R := R)).
Proof.
move=> R1; apply: affine_rows => j; set q := code_digits N b.
have [w w_n] : exists w : k.-tuple 'I_R, numbers w = letters R k (j %/ q).
  pose letter_of i := Ordinal (ltn_pmod (j %/ q %/ R ^ (k.-1 - i)) R1).
  exists [tuple letter_of i | i < k]; apply: (@eq_from_nth _ 0%N); rewrite size_numbers ?size_letters // => i i_k.
  by rewrite nth_letters // /numbers (nth_map (letter_of 0%N)) ?size_tuple // -(tnth_nth _ _ (Ordinal i_k)) tnth_mktuple.
apply: affine_eq (affine_digit w b (j %% q)) => g x; rewrite col_mxEu mxE /= -/q -w_n walk_follow.
exact: pmulrn.
Qed.

(** The entries hold bits of several codes. *)
Theorem T7_T1d_concatenated b : superposition 1 (T1d_concatenated_model F b (N := N) (R := R)).
Proof.
apply: affine_rows => j; set p := code_bits N.
pose string (g : fact_system N R) (x : 'I_N) T := bit (answers_index R (2 ^ p) (table g) x) T.
have string_affine T : affine 1 (fun g x => (string g x T)%:R).
  have N_p : (N <= 2 ^ p)%N by apply: up_logP.
  have [T_in|T_out] := ltnP T (R * p).
    apply: affine_eq (affine_bit [tuple Ordinal (block_lt T_in)] (T %% p)) => g x; rewrite /string /=.
    rewrite -(answers_index_digit g x (Ordinal (block_lt T_in)) N_p) /= -expnM bit_mod ?(place_lt T_in) // bit_div.
    by rewrite mulnC -divn_eq.
  apply: affine_eq (affine_const 1 0) => g x; rewrite /string /bit divn_small //.
  by apply: leq_trans (answers_index_lt g x N_p) _; rewrite -expnM leq_exp2l // mulnC.
apply: (affine_eq (f' := fun g x => \sum_(t < b) (string g x (j * b + t)%N)%:R * (2 ^ t)%:R)) => [g x|].
  rewrite col_mxEu mxE /= -/p -pmulrn -[in LHS](bits_sum (digit_lt b _ j)) natr_sum; apply: eq_bigr => t _.
  by rewrite natrM /string /digit -expnM bit_mod // bit_div mulnC.
apply: (affine_sum (f := fun t g x => (string g x (j * b + t)%N)%:R * (2 ^ t)%:R)) => t _.
by apply: affine_scale; apply: string_affine.
Qed.
End Superposition.

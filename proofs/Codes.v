(** * Parts that several constructions share ([constructions/weights/parts.py]): entity codes, read-outs, open blocks.

    The code of an entity is its p = ⌈log2 N⌉ binary digits as signs, or its q = ⌈p/b⌉ digits in base 2^b. Distinct
    entities have distinct codes, so a read-out by signs has margin 2 ([read_signs]), one by distance margin 1
    ([read_digits]). [open_block]: where every hidden unit outside one block is closed, the sum of the blocks is that
    block. *)
From mathcomp Require Import all_ssreflect all_algebra zify.
From Recall Require Import Model Weights.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Codes *)

(** Binary digit number i of n. *)
Definition bit (n i : nat) : bool := odd (n %/ 2 ^ i).

(** c(n)_i, in {-1, +1}. *)
Definition sign (n i : nat) : int := if bit n i then 1 else -1.

(** p = ⌈log2 N⌉. *)
Definition code_bits (N : nat) : nat := up_log 2 N.

(** Digit number i of n in base 2^b, and q = ⌈p/b⌉. *)
Definition digit (b n i : nat) : nat := ((n %/ (2 ^ b) ^ i) %% 2 ^ b)%N.
Definition code_digits (N b : nat) : nat := ((code_bits N + b.-1) %/ b)%N.

Lemma code_bits_gt0 N : (1 < N)%N -> (0 < code_bits N)%N.
Proof. by move=> N1; rewrite /code_bits up_log_gt0. Qed.

Lemma code_digits_gt0 N b : (1 < N)%N -> (0 < b)%N -> (0 < code_digits N b)%N.
Proof. by move=> /code_bits_gt0 p0 b0; rewrite divn_gt0 //; lia. Qed.

Lemma code_bits_small N (c : 'I_N) : (c < 2 ^ code_bits N)%N.
Proof. exact: leq_trans (ltn_ord c) (up_logP N (ltnSn 1)). Qed.

Lemma sign_sq n i : sign n i * sign n i = 1.
Proof. by rewrite /sign; case: bit. Qed.

Lemma digit_lt b n i : (digit b n i < 2 ^ b)%N.
Proof. by rewrite ltn_pmod ?expn_gt0. Qed.

Lemma digit_inj b q m n : (m < (2 ^ b) ^ q)%N -> (n < (2 ^ b) ^ q)%N ->
  (forall i, (i < q)%N -> digit b m i = digit b n i) -> m = n.
Proof.
elim: q m n => [|q IH] m n; first by rewrite expn0 !ltnS !leqn0 => /eqP-> /eqP->.
move=> m_lt n_lt same; rewrite (divn_eq m (2 ^ b)) (divn_eq n (2 ^ b)).
have -> : (m %% 2 ^ b = n %% 2 ^ b)%N by have := same 0%N isT; rewrite /digit expn0 !divn1.
congr (_ * _ + _)%N; apply: IH; rewrite ?ltn_divLR ?expn_gt0 // -?expnSr //.
by move=> i i_lt; have := same i.+1 i_lt; rewrite /digit expnS !divnMA.
Qed.

Lemma bit_digit n i : bit n i = (digit 1 n i != 0%N).
Proof. by rewrite /bit /digit expn1 modn2; case: odd. Qed.

Lemma bit_inj p m n : (m < 2 ^ p)%N -> (n < 2 ^ p)%N -> (forall i, (i < p)%N -> bit m i = bit n i) -> m = n.
Proof.
move=> m_lt n_lt same; apply: (@digit_inj 1 p); rewrite ?expn1 // => i i_lt.
by have := same i i_lt; rewrite !bit_digit /digit expn1 !modn2; case: odd; case: odd.
Qed.

(** Distinct entities have a place in which their codes differ. *)
Lemma signs_differ N (a b : 'I_N) : a != b -> exists i : 'I_(code_bits N), bit a i != bit b i.
Proof.
move=> ab; apply/existsP; apply: contraNT ab; rewrite negb_exists => /forallP same; apply/eqP/val_inj.
apply: (bit_inj (code_bits_small a) (code_bits_small b)) => i i_lt.
by move: (same (Ordinal i_lt)); rewrite negbK => /eqP.
Qed.

Lemma digits_differ N b (m n : 'I_N) : (0 < b)%N -> m != n -> exists i : 'I_(code_digits N b), digit b m i != digit b n i.
Proof.
move=> b0 mn; have small (c : 'I_N) : (c < (2 ^ b) ^ code_digits N b)%N.
  apply: leq_trans (code_bits_small c) _; rewrite -expnM leq_exp2l // /code_digits.
  by have := divn_eq (code_bits N + b.-1) b; have := ltn_pmod (code_bits N + b.-1) b0; nia.
apply/existsP; apply: contraNT mn; rewrite negb_exists => /forallP same; apply/eqP/val_inj.
by apply: (digit_inj (small m) (small n)) => i i_lt; move: (same (Ordinal i_lt)); rewrite negbK => /eqP.
Qed.

(** ** Read-outs *)

Definition readout_by_signs (p j a : nat) : int := if (j < p)%N then sign a j else 0.

Definition readout_by_distance (b q j a : nat) : int := if (j < q)%N then 2 * (digit b a j)%:Z else 0.
Definition bias_by_distance (b q a : nat) : int := - sum q (fun j => (digit b a j)%:Z ^+ 2).

(** If every coordinate of v has the sign of c(a) and is at least 1, <c(a), v> - <c(b), v> >= 2 for every b ≠ a. *)
Lemma read_signs N d (a b : 'I_N) (v : nat -> int) : (code_bits N <= d)%N -> b != a ->
    (forall i, (i < code_bits N)%N -> 1 <= v i * sign a i) ->
  \sum_(i < d) v i * readout_by_signs (code_bits N) i b + 2 <= \sum_(i < d) v i * readout_by_signs (code_bits N) i a.
Proof.
move=> p_d differ large.
have cut c : \sum_(i < d) v i * readout_by_signs (code_bits N) i c = \sum_(i < code_bits N) v i * sign c i.
  rewrite (big_ord_widen _ (fun i => v i * sign c i) p_d) [RHS]big_mkcond.
  by apply: eq_bigr => i _; rewrite /readout_by_signs; case: ifP => _; rewrite ?mulr0.
rewrite !cut {cut}; move: differ; rewrite eq_sym => /signs_differ[i differ].
rewrite (bigD1 i) //= [leRHS](bigD1 i) //= addrAC ler_add //; last first.
  by apply: ler_sum => j _; have := large j (ltn_ord j); rewrite /sign; case: (bit a j); case: (bit b j); lia.
by have := large i (ltn_ord i); move: differ; rewrite /sign; case: (bit a i); case: (bit b i) => // _; lia.
Qed.

(** If v is the digit vector of a, the logits |v|² - |v - c|² are largest at a, by at least 1. *)
Lemma read_digits N b d (a c : 'I_N) (v : nat -> int) : (0 < b)%N -> (code_digits N b <= d)%N -> c != a ->
    (forall i, (i < code_digits N b)%N -> v i = (digit b a i)%:Z) ->
  \sum_(i < d) v i * readout_by_distance b (code_digits N b) i c + bias_by_distance b (code_digits N b) c + 1 <=
  \sum_(i < d) v i * readout_by_distance b (code_digits N b) i a + bias_by_distance b (code_digits N b) a.
Proof.
set q := code_digits N b => b0 q_d differ v_a.
have cut e : \sum_(i < d) v i * readout_by_distance b q i e + bias_by_distance b q e =
    \sum_(i < q) ((digit b a i)%:Z ^+ 2 - ((digit b a i)%:Z - (digit b e i)%:Z) ^+ 2).
  rewrite /bias_by_distance sumE -sumrN; transitivity (\sum_(i < q) v i * (2 * (digit b e i)%:Z) +
      \sum_(i < q) - (digit b e i)%:Z ^+ 2).
    congr (_ + _); rewrite (big_ord_widen _ (fun i => v i * (2 * (digit b e i)%:Z)) q_d) [RHS]big_mkcond.
    by apply: eq_bigr => i _; rewrite /readout_by_distance; case: ifP => _; rewrite ?mulr0.
  by rewrite -big_split; apply: eq_bigr => i _ /=; rewrite v_a //; nia.
rewrite !cut {cut}; have [i differ_i] := digits_differ b0 differ.
rewrite (bigD1 i) //= [leRHS](bigD1 i) //= addrAC ler_add //; last by apply: ler_sum => j _; nia.
rewrite !expr2 subrr mulr0 subr0; move: differ_i; move: (digit b c i) (digit b a i) => u w.
by case: (ltngtP u w) => // uw _; nia.
Qed.

(** ** Blocks *)

Definition identity (i j : nat) : int := if (i == j)%N then 1 else 0.

(** c times the sum of blocks of q entries, in the first q coordinates. *)
Definition sum_of_blocks (q : nat) (c : int) (i j : nat) : int := if (j < q)%N && (i %% q == j)%N then c else 0.

Lemma entry_lt B q b j : (b < B)%N -> (j < q)%N -> (b * q + j < B * q)%N.
Proof. nia. Qed.

Lemma open_block B q b (v : nat -> int) c j : (b < B)%N ->
    (forall i, (i < B * q)%N -> (i %/ q != b)%N -> v i = 0) ->
  \sum_(i < B * q) v i * sum_of_blocks q c i j = if (j < q)%N then v (b * q + j)%N * c else 0.
Proof.
move=> b_B closed; rewrite /sum_of_blocks; have [j_q|q_j] := ltnP j q; last by rewrite big1 // => i _; rewrite mulr0.
have here : (b * q + j < B * q)%N by apply: entry_lt.
rewrite (bigD1 (Ordinal here)) //= big1 => [|i i_here].
  by rewrite modnMDl modn_small // eqxx addr0.
case: eqP => [place|_]; last by rewrite mulr0.
have [block|other] := eqVneq (i %/ q)%N b; last by rewrite closed ?mul0r.
by case/eqP: i_here; apply/val_inj; rewrite /= (divn_eq i q) block place.
Qed.

(** With the identity for W_in, the hidden units are the rectified entries. *)
Lemma hidden_identity d L m i : fin L = identity -> (i < d)%N -> hidden d L m i = Num.max 0 (m i + fbin L i).
Proof. by move=> L_in i_d; rewrite /hidden L_in sum_delta // mulr1. Qed.

(** An MLP that adds the blocks up writes the open one. *)
Lemma mlp_open d L m B q b c j : n_width L = (B * q)%N -> fout L = sum_of_blocks q c -> (b < B)%N ->
    (forall i, (i < B * q)%N -> (i %/ q != b)%N -> hidden d L m i = 0) ->
  mlp d L m j = (if (j < q)%N then hidden d L m (b * q + j)%N * c else 0) + fbout L j.
Proof.
by move=> w_L out_L b_B closed; rewrite /mlp w_L out_L (@open_block B q b (hidden d L m)).
Qed.

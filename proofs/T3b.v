(** * T3b. Steps against dimension, fixed read-out. Mirrors [constructions.weights.t3b.construct].

    For all N >= 2, R >= 1, 1 <= j <= k, b >= 1 and any R maps of N entities (permutations or not): a chain of thought
    that emits every j-th entity, s = ⌈k/j⌉ of them, the first step taking ρ = k - (s-1)·j hops, with hardmax attention,
    width (R^j + [ρ ≠ j]·R^ρ)·⌈p/b⌉ and d = width + 4, subject entries in 0..2^b - 1; every step of all N·R^k chains is
    right with margin at least 1; nothing but the subject table depends on the facts. Idea: T2's blocks for the words of
    j hops and of ρ; the slots hold the word of the step, an empty slot being one more value to match ([Stride]).

    Main theorems: [T3b_fixed], [T3b_fixed_size], [T3b_fixed_entries], [T3b_fixed_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Chain Stride.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The words that have a block: those of j hops, then, if the first step is shorter, those of ρ *)

Section Blocks.
Variables (R k j : nat).
Let rho := first_step k j.

Definition stride_blocks : nat := (R ^ j + (if rho == j then 0 else R ^ rho))%N.
Definition block_word (n : nat) : seq nat :=
  if (n < R ^ j)%N then letters R j n else letters R rho (n - R ^ j).

Hypotheses (R1 : (0 < R)%N) (j_k : (0 < j <= k)%N).

Lemma size_block_word n : (size (block_word n) <= j)%N.
Proof.
by have [_ /andP[_ rho_j] _] := stride_sizes j_k; rewrite /block_word; case: ifP; rewrite size_letters.
Qed.

Lemma block_word_small n : all (fun r => r < R)%N (block_word n).
Proof.
by rewrite /block_word; case: ifP => _; apply/allP=> r /mapP[i _ ->]; rewrite ltn_pmod.
Qed.

Lemma block_word_inj n n' : (n < stride_blocks)%N -> (n' < stride_blocks)%N -> block_word n = block_word n' -> n = n'.
Proof.
rewrite /stride_blocks /block_word; case: (ltnP n (R ^ j)) => n_j; case: (ltnP n' (R ^ j)) => n'_j n_lt n'_lt same.
- by rewrite -(number_letters R1 n_j) same number_letters.
- by move: n'_lt (congr1 size same); rewrite !size_letters; case: eqP => [_|differ]; lia.
- by move: n_lt (congr1 size same); rewrite !size_letters; case: eqP => [_|differ]; lia.
move: n_lt n'_lt; case: eqP => [_|_]; first by lia.
move=> n_lt n'_lt; have := congr1 (number R) same; rewrite !number_letters //; lia.
Qed.

(** The word of a step has a block. *)
Lemma word_block (u : seq 'I_R) : (size u == j) || (size u == rho) ->
  exists2 n, (n < stride_blocks)%N & block_word n = map val u.
Proof.
move=> size_u; have small r : r \in map val u -> (r < R)%N by case/mapP=> r' _ ->; apply: ltn_ord.
have word : letters R (size u) (number R (map val u)) = map val u.
  by have := letters_number small; rewrite size_map.
have word_lt : (number R (map val u) < R ^ size u)%N by have := number_lt small; rewrite size_map.
rewrite /stride_blocks /block_word; case: (eqVneq (size u) j) size_u => [u_j _|differ /eqP u_rho].
  by exists (number R (map val u)); rewrite -u_j ?word_lt // ltn_addr.
exists (R ^ j + number R (map val u))%N; rewrite -u_rho.
  by rewrite ltn_add2l (negbTE differ).
by rewrite ltnNge leq_addr addKn word.
Qed.
End Blocks.

(** ** The weights; [g r x] is the answer to (x, r) *)

Section Weights.
Variables (N R k j b : nat) (g : nat -> nat -> nat).
Let q := code_digits N b.
Let entries := (stride_blocks R k j * q)%N.
Let expected (e : nat) : seq nat := padded j (block_word R k j (e %/ q)).

Definition t3b_digit (x e : nat) : int := (digit b (walk g (block_word R k j (e %/ q)) x) (e %% q))%:Z.
Definition t3b_gate (m v e : nat) : int := - (2 ^ b)%N%:Z * linear R 1 (nth 0%N (expected e) m) v.
Definition t3b_bias (e : nat) : int := - (2 ^ b)%N%:Z * sum j (fun m => constant R 1 (nth 0%N (expected e) m)).

Definition t3b_fixed : weights :=
  strided R k j entries entries t3b_digit t3b_gate identity t3b_bias (sum_of_blocks q 1)
    (readout_by_distance b q) (bias_by_distance b q).
End Weights.

Section Theorems.
Variables (F : realFieldType) (N R k j b : nat).
Let q := code_digits N b.
Let width := (stride_blocks R k j * q)%N.

Definition T3b_fixed_model (g : fact_system N R) := over F N R N (t3b_fixed N R k j b (table g)).

(** Every chain of thought that emits every j-th entity of k hops is right at every step, with margin at least 1. *)
Theorem T3b_fixed (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= j <= k)%N -> (1 <= b)%N ->
  answers_chain_with_margin (T3b_fixed_model g) k (stride_lengths k j) 1 g.
Proof.
move=> N2 R1 j_k b1 x w; apply: emits_steps => done l rest n tokens lengths is_begun a.
have [done_i -> i_s] := each_stride lengths; set i := size done in done_i i_s *; rewrite done_i in is_begun.
have q0 : (0 < q)%N := code_digits_gt0 N2 b1; have B0 : (0 < 2 ^ b)%N by rewrite expn_gt0.
have c_width : (columns R 1 <= width)%N.
  have Rj : (R <= R ^ j)%N by rewrite -{1}(expn1 R) leq_pexp2l //; case/andP: j_k.
  by rewrite /width /stride_blocks /columns; nia.
have logit := @stride_logits F N R k j width width (t3b_digit N R k j b (table g)) (t3b_gate N R k j b) identity
  (t3b_bias N R k j b) (sum_of_blocks q 1) (readout_by_distance b q) (bias_by_distance b q) R1 j_k c_width
  g x w i n tokens i_s is_begun.
rewrite (followed_asked w j_k i_s g x) => differ; rewrite !logit {logit} -[1]/(1%:~R) -rmorphD ler_int.
set y := standing j w i g x in differ *; set u := asked_word j w i in differ *.
set att := arrives _ _ _ _ _ _ _ _; set L := stride_layer _ _ _ _ _ _ _ _ _.
have [B B_lt B_u] : exists2 B, (B < stride_blocks R k j)%N & block_word R k j B = map val u.
  by apply: word_block; rewrite (size_asked w j_k i_s); case: (i); rewrite eqxx ?orbT.
have gate e : (e < width)%N -> hidden (width + 4) L att e = Num.max 0 (t3b_digit N R k j b (table g) y e -
    (2 ^ b)%N%:Z * apart j (padded j (map val u)) (padded j (block_word R k j (e %/ q)))).
  move=> e_lt; have e_d : (e < width + 4)%N by rewrite (leq_trans e_lt) ?leq_addr.
  rewrite hidden_identity // /att /arrives e_lt.
  rewrite (eq_bigr (fun m : 'I_j => \sum_(v < columns R 1) code R 1 (nth 0%N (padded j (map val u)) m) v *
    (- (2 ^ b)%N%:Z * linear R 1 (nth 0%N (padded j (block_word R k j (e %/ q))) m) v))) => [|m _]; last first.
    by apply: eq_bigr => v _; rewrite slots.
  rewrite gates //; first last.
  - by move=> m; apply: padded_small; apply: block_word_small.
  - by move=> m; apply: padded_small; apply/allP=> r /mapP[r' _ ->]; apply: ltn_ord.
  by rewrite /= /t3b_bias -/q; move: (apart _ _ _) (sum _ _) (t3b_digit _ _ _ _ _ _ _ _) => z1 z2 z3; congr (Num.max 0 _); lia.
have e_B e : (e < q)%N -> ((B * q + e) %/ q = B)%N /\ ((B * q + e) %% q = e)%N.
  by move=> e_q; rewrite divnMDl // modnMDl divn_small // modn_small // addn0.
apply: read_digits => // [|e e_q].
  by rewrite /width (leq_trans _ (leq_addr _ _)) // leq_pmull // /stride_blocks ltn_addr // expn_gt0 R1.
rewrite (@mlp_open _ _ _ (stride_blocks R k j) q B 1) // => [|e' e'_lt other].
  have [div_e mod_e] := e_B e e_q.
  rewrite e_q gate ?entry_lt // div_e B_u apart_same mulr0 subr0 /t3b_digit -/q div_e mod_e B_u walk_follow /= addr0 mulr1.
  by rewrite max_r.
rewrite gate //; apply/max_idPl.
have B'_lt : (e' %/ q < stride_blocks R k j)%N by rewrite ltn_divLR.
have far : 1 <= apart j (padded j (map val u)) (padded j (block_word R k j (e' %/ q))).
  apply: apart_other; rewrite ?size_padded ?size_block_word // -?B_u ?size_block_word //.
  by apply: contra other => /eqP/padded_inj/(block_word_inj R1 j_k B_lt B'_lt)->.
have := digit_lt b (walk (table g) (block_word R k j (e' %/ q)) y) (e' %% q).
by move: far; rewrite /t3b_digit -/q; move: (digit _ _ _) (apart _ _ _) => z1 z2; nia.
Qed.

(** One block, of width (R^j + [ρ ≠ j]·R^ρ)·⌈p/b⌉, and d = width + 4. *)
Theorem T3b_fixed_size (g : fact_system N R) :
  let rho := first_step k j in
  let wide := ((R ^ j + (rho != j) * R ^ rho) * q)%N in
  dimension (t3b_fixed N R k j b (table g)) = (wide + 4)%N /\ widths (T3b_fixed_model g) = [:: wide].
Proof.
move=> rho wide; have -> : wide = width by rewrite /wide /width /stride_blocks -/rho; case: eqP => _; rewrite ?mul1n.
by [].
Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T3b_fixed_entries (g : fact_system N R) x i :
  exists v : 'I_(2 ^ b), W_E (T3b_fixed_model g) (lshift R x) i = (v : nat)%:R.
Proof.
rewrite col_mxEu mxE /=; case: ifP => _; last by exists (Ordinal (expn_gt0 2 b : 0 < 2 ^ b)%N).
by exists (Ordinal (digit_lt b (walk (table g) (block_word R k j (i %/ code_digits N b)) x) (i %% code_digits N b))).
Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T3b_fixed_universal : universal T3b_fixed_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T3b_fixed_model /over /over_with /= col_mxKd. Qed.
End Theorems.

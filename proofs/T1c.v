(** * T1c. Single hop, lower bounds, by counting.

    Transformers of any depth, attention (uniform, hardmax, softmax), mask, residual setting and width, over any ordered
    field. Universal: if one frame, with a subject table of d numbers of b bits a row, answers all queries of every fact
    system, then 2^(d·b) >= N^R, that is d·b >= R·log N. Every model: if the frame too may be chosen, by B bits, then
    2^(N·d·b + B) >= (N!)^R. Idea: the answers of a subject are a function of its row, and any of N^R tuples of answers
    occurs; all answers are a function of all bits, and (N!)^R systems have different answers.

    Main theorems: [T1c_universal], [T1c_every], [T1c_no_gap]; [T1c_universal_decoder] and [T1c_every_decoder] say the
    same of any function whatever that reads the answers off the bits. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Decode Bound T1b.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Any function that answers *)

Theorem T1c_universal_decoder (N R d b : nat) (decode : row_bits d b -> 'I_R -> option 'I_N) : (1 <= N)%N ->
    (forall g : bijections N R, exists rows : 'I_N -> row_bits d b, forall x r, decode (rows x) r = Some (g r x)) ->
  (N ^ R <= 2 ^ (d * b))%N.
Proof.
case: N decode => // N decode _ answers.
have every (y : {ffun 'I_R -> 'I_N.+1}) : exists row, [forall r, decode row r == Some (y r)].
  have [rows right] := answers [ffun r => tperm ord0 (y r)].
  by exists (rows ord0); apply/forallP=> r; rewrite right ffunE tpermL.
pose row y := xchoose (every y).
have row_inj : injective row.
  move=> y y' same; apply/ffunP=> r; apply/Some_inj.
  by rewrite -(eqP (forallP (xchooseP (every y)) r)) -(eqP (forallP (xchooseP (every y')) r)) -/(row y) same.
by have := leq_card _ row_inj; rewrite card_row_bits card_ffun !card_ord.
Qed.

Theorem T1c_every_decoder (N R d b B : nat)
    (decode : 'I_(2 ^ B) -> row_bits d b -> 'I_N -> 'I_R -> option 'I_N) :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       forall x r, decode others (rows x) x r = Some (g r x)) ->
  (N`! ^ R <= 2 ^ (N * d * b + B))%N.
Proof.
move=> answers.
have every (g : bijections N R) : exists bits : {ffun 'I_N -> row_bits d b} * 'I_(2 ^ B),
    [forall x, forall r, decode bits.2 (bits.1 x) x r == Some (g r x)].
  have [others [rows right]] := answers g; exists ([ffun x => rows x], others).
  by apply/forallP=> x; apply/forallP=> r; rewrite ffunE right.
pose bits g := xchoose (every g).
have bits_inj : injective bits.
  move=> g g' same; apply/ffunP=> r; apply/permP=> x; apply/Some_inj.
  move: (xchooseP (every g)) (xchooseP (every g')).
  by rewrite -/(bits g) -/(bits g') same => /forallP/(_ x)/forallP/(_ r)/eqP<- /forallP/(_ x)/forallP/(_ r)/eqP<-.
have := leq_card _ bits_inj.
by rewrite card_ffun card_prod card_ffun card_row_bits !card_ord card_Sn -expnM -expnD mulnC mulnA.
Qed.

(** ** Transformers *)

Section Transformers.
Variables (F : realFieldType) (N R d b : nat) (value : 'I_d -> 'I_(2 ^ b) -> F).

(** Universal: nothing but the subject rows depends on the facts. *)
Theorem T1c_universal (frame : transformer F N R N d) : (1 <= N)%N ->
    (forall g : bijections N R, exists rows : 'I_N -> row_bits d b,
       answers_all (with_subjects frame (subjects value rows)) 1 g) ->
  (N ^ R <= 2 ^ (d * b))%N.
Proof.
move=> N1 answers; pose x0 : 'I_N := Ordinal N1.
apply: (@T1c_universal_decoder _ _ _ _ (fun row r => read value frame x0 row [tuple r])) => // g.
by have [rows right] := answers g; exists rows => x r; rewrite (read_right x0 right) /= facts_ofE.
Qed.

(** Every model: B bits choose everything else. *)
Theorem T1c_every (B : nat) (frame : 'I_(2 ^ B) -> transformer F N R N d) :
    (forall g : bijections N R, exists (others : 'I_(2 ^ B)) (rows : 'I_N -> row_bits d b),
       answers_all (with_subjects (frame others) (subjects value rows)) 1 g) ->
  (N`! ^ R <= 2 ^ (N * d * b + B))%N.
Proof.
move=> answers; apply: (@T1c_every_decoder _ _ _ _ _ (fun others row x r => read value (frame others) x row [tuple r])).
move=> g; have [others [rows right]] := answers g; exists others, rows => x r.
by rewrite (read_right x right) /= facts_ofE.
Qed.
End Transformers.

(** The inequalities as [bounds.lower.information] computes them. *)
Definition t1c_universal_bound (N R : nat) := {| rows := 1; shared := 0; terms := [:: Term R N 1] |}.
Definition t1c_every_bound (N R : nat) := {| rows := N; shared := 1; terms := [:: Term R N N] |}.

Theorem T1c_universal_numbers (N R d b : nat) : holds (t1c_universal_bound N R) d b 0 = (N ^ R <= 2 ^ (d * b))%N.
Proof. by rewrite /holds count1 /= ffactn1 mul1n muln0 addn0. Qed.

Theorem T1c_every_numbers (N R d b B : nat) :
  holds (t1c_every_bound N R) d b B = (N`! ^ R <= 2 ^ (N * d * b + B))%N.
Proof. by rewrite /holds count1 /= ffactnn mul1n. Qed.

(** T1b meets the bound: for N = 2^p and b a divisor of p its dimension times b is R·log N exactly. *)
Theorem T1c_no_gap (q b R : nat) (g : nat -> nat -> nat) : (0 < b)%N ->
  ((2 ^ (b * q)) ^ R = 2 ^ (dimension (t1b (2 ^ (b * q)) R b g) * b))%N.
Proof.
move=> b0; rewrite -expnM; congr (2 ^ _)%N; rewrite /= /code_digits /code_bits up_expnK //.
by rewrite [(b * q)%N]mulnC divnMDl // divn_small ?addn0; lia.
Qed.

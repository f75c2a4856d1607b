(** * T5. Transfer. Mirrors [constructions/suite/t5.py].

    T1, T1b, T1d, T2, T3, T3b (fixed read-out) and T6 are universal: put the subject table of the model built for g'
    into the model built for g, with everything else frozen, and every query of g' is answered. Idea: the result is the
    model built for g'.

    Main theorems: [T5_T1], [T5_T1b], [T5_T1d_lookup], [T5_T1d_concatenated], [T5_T2], [T5_T3_parabola],
    [T5_T3_signs], [T5_T3b], [T5_T6]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From Recall Require Import Model Weights T1 T1b T1dLookup T1dConcatenated T2 T3Parabola T3Signs Stride T3b T6.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Local Open Scope ring_scope.

(** [M] with the subject table of [donor] and nothing else ([constructions.suite.t5.transplant]). *)
Definition transplant (F : realFieldType) (N R A d : nat) (M donor : transformer F N R A d) : transformer F N R A d :=
  with_subjects M (usubmx (W_E donor)).

(** A universal construction transfers. *)
Lemma transplanted (F : realFieldType) (N R A d : nat) (construct : fact_system N R -> transformer F N R A d) g g' :
  universal construct -> transplant (construct g) (construct g') = construct g'.
Proof. by case/(_ g g') => E ->; rewrite /transplant /with_subjects /= col_mxKu. Qed.

Section Theorems.
Variables (F : realFieldType) (N R k b : nat) (g g' : fact_system N R).
Hypotheses (N2 : (2 <= N)%N) (R1 : (1 <= R)%N) (k1 : (1 <= k)%N) (b1 : (1 <= b)%N).

Theorem T5_T1 residual : answers_all_with_margin (transplant (T1_model F residual g) (T1_model F residual g')) 1 2 g'.
Proof. rewrite (transplanted g g' (@T1_universal F N R residual)). exact (@T1 F N R residual g' N2 R1). Qed.

Theorem T5_T1b : answers_all_with_margin (transplant (T1b_model F b g) (T1b_model F b g')) 1 1 g'.
Proof. rewrite (transplanted g g' (@T1b_universal F N R b)). exact (@T1b F N R b g' N2 R1 b1). Qed.

Theorem T5_T1d_lookup :
  answers_all_with_margin (transplant (T1d_lookup_model F b g) (T1d_lookup_model F b g')) 1 1 g'.
Proof.
rewrite (transplanted g g' (@T1d_lookup_universal F N R b)). exact (@T1d_lookup F N R b g' N2 R1 b1).
Qed.

Theorem T5_T1d_concatenated :
  answers_all_with_margin (transplant (T1d_concatenated_model F b g) (T1d_concatenated_model F b g')) 1 1 g'.
Proof.
rewrite (transplanted g g' (@T1d_concatenated_universal F N R b)). exact (@T1d_concatenated F N R b g' N2 R1 b1).
Qed.

Theorem T5_T2 : answers_all_with_margin (transplant (T2_model F k b g) (T2_model F k b g')) k 1 g'.
Proof. rewrite (transplanted g g' (@T2_universal F N R k b)). exact (@T2 F N R k b g' N2 R1 k1 b1). Qed.

Theorem T5_T3_parabola : answers_chain_with_margin
  (transplant (T3_parabola_model F k b g) (T3_parabola_model F k b g')) k (iota 1 k) 1 g'.
Proof. rewrite (transplanted g g' (@T3_parabola_universal F N R k b)). exact (@T3_parabola F N R k b g' N2 R1 k1 b1). Qed.

Theorem T5_T3_signs : answers_chain_with_margin
  (transplant (T3_signs_model F k b g) (T3_signs_model F k b g')) k (iota 1 k) 1 g'.
Proof. rewrite (transplanted g g' (@T3_signs_universal F N R k b)). exact (@T3_signs F N R k b g' N2 R1 k1 b1). Qed.

Theorem T5_T3b j : (1 <= j <= k)%N -> answers_chain_with_margin
  (transplant (T3b_fixed_model F k j b g) (T3b_fixed_model F k j b g')) k (stride_lengths k j) 1 g'.
Proof.
move=> j_k; rewrite (transplanted g g' (@T3b_fixed_universal F N R k j b)).
exact (@T3b_fixed F N R k j b g' N2 R1 j_k b1).
Qed.

Theorem T5_T6 (x : 'I_N) (r : 'I_R) :
  predicts_with_margin (transplant (T6_model F g) (T6_model F g')) 2 (prompt x [tuple r]) (attribute r (g' r x)).
Proof. rewrite (transplanted g g' (@T6_universal F N R)). exact (@T6 F N R g' x r N2). Qed.
End Theorems.

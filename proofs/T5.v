(** * T5. Transfer. Mirrors [constructions/suite/t5.py].

    T1, T1b, T2 and T3 are universal: put the subject table of the model built for g' into the model built for g, with
    everything else frozen, and every query of g' is answered. Idea: the result is the model built for g'.

    Main theorems: [T5_T1], [T5_T1b], [T5_T2], [T5_T3_parabola], [T5_T3_signs]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From Recall Require Import Model Weights T1 T1b T2 T3Parabola T3Signs.

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

Theorem T5_T2 : answers_all_with_margin (transplant (T2_model F k b g) (T2_model F k b g')) k 1 g'.
Proof. rewrite (transplanted g g' (@T2_universal F N R k b)). exact (@T2 F N R k b g' N2 R1 k1 b1). Qed.

Theorem T5_T3_parabola : answers_chain_with_margin
  (transplant (T3_parabola_model F k b g) (T3_parabola_model F k b g')) k (iota 1 k) 1 g'.
Proof. rewrite (transplanted g g' (@T3_parabola_universal F N R k b)). exact (@T3_parabola F N R k b g' N2 R1 k1 b1). Qed.

Theorem T5_T3_signs : answers_chain_with_margin
  (transplant (T3_signs_model F k b g) (T3_signs_model F k b g')) k (iota 1 k) 1 g'.
Proof. rewrite (transplanted g g' (@T3_signs_universal F N R k b)). exact (@T3_signs F N R k b g' N2 R1 k1 b1). Qed.
End Theorems.

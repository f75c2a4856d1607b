(** * T1d. The exact minimum of the dimension: what its two constructions share. Mirrors [constructions/weights/t1d.py].

    Uniform attention adds the digits of a subject and the shift of a relation; hidden units that are kinks of a
    function on integers add the answer up in coordinate 0; the read-out is 2a·h - a². [t1d_answers]: if they do, all
    queries are answered with margin 1. The constructions are in [T1dLookup] and [T1dConcatenated]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Kinks.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Weights.
Variables (d w : nat) (digits : nat -> nat -> nat) (shift : nat -> nat -> int).
Variables (W_in : nat -> nat -> int) (kink : nat -> nat) (slope : nat -> int).

Definition t1d_layer : layer :=
  uniform_layer d w W_in (fun u => - (kink u)%:Z) (fun u j => if j is 0 then slope u else 0) (fun=> 0).

Definition t1d : weights :=
  {| dimension := d;
     subject := fun x j => (digits x j)%:Z;
     relation := shift;
     position := fun _ _ => 0;
     layers := [:: t1d_layer];
     unembed := readout_number;
     unbias := bias_number;
     attends := Uniform; adds := false; masked := false |}.

(** What the hidden units add up to. *)
Definition added (x r : nat) : int :=
  \sum_(u < w) Num.max 0 (\sum_(j < d) ((digits x j)%:Z + shift r j) * W_in j u - (kink u)%:Z) * slope u.

Lemma t1d_answers (F : realFieldType) (N R : nat) (g : fact_system N R) : (0 < d)%N ->
  (forall (x : 'I_N) (r : 'I_R), added x r = g r x) -> answers_all_with_margin (over F N R N t1d) 1 1 g.
Proof.
move=> d0 add x; case/tupleP=> r v; rewrite (tuple0 v) => a differ.
rewrite !(@logits_uniform F N R N t1d _ _ _ _ _ x r erefl erefl erefl) -[1]/(1%:~R) -rmorphD ler_int.
refine (@read_number d (two_written t1d t1d_layer x r) _ a d0 differ _).
rewrite /two_written /two_middle /= !add0r /mlp /= addr0 -add; apply: eq_bigr => u _; congr (Num.max 0 (_ - _) * _).
by apply: eq_bigr => j _; rewrite !addr0 ?add0r.
Qed.
End Weights.

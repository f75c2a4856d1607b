(** * What a lower bound is ([bounds/lower/bound.py]): one inequality between the bits of a model and a count.

    [rows] subject rows of d numbers of b bits and [shared] times B further bits tell [count] cases apart: count <=
    2^(rows·d·b + shared·B), that is rows·d·b + shared·B >= Σ times·log2 (top)_length. The numbers are formulas, which
    [Export] evaluates and [compare.py] holds against what [bounds] computes. *)
From mathcomp Require Import all_ssreflect.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** times·log2 of the falling factorial (top)_length *)
Record term := Term { times : nat; top : nat; length : nat }.

Record bound := Bound { rows : nat; shared : nat; terms : seq term }.

Definition count (terms : seq term) : nat := \prod_(t <- terms) (top t ^_ length t) ^ times t.

Definition holds (bd : bound) (d b B : nat) : bool := count (terms bd) <= 2 ^ (rows bd * d * b + shared bd * B).

Lemma count1 t : count [:: t] = (top t ^_ length t) ^ times t.
Proof. by rewrite /count big_seq1. Qed.

Lemma count3 t u v : count [:: t; u; v] =
  (top t ^_ length t) ^ times t * (top u ^_ length u) ^ times u * (top v ^_ length v) ^ times v.
Proof. by rewrite /count !big_cons big_nil muln1 mulnA. Qed.

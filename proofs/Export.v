(** * The weights and bounds of the theorems, evaluated: what [compare.py] reads.

    [export] lists every entry of every tensor of a [weights], with its shape, and the flags; [export_bound] the numbers
    of a bound. Nothing is proved here, and no theorem depends on this file. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From Recall Require Import Model Weights Bound.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** A table of facts, one row a relation. *)
Definition facts (rows : seq (seq nat)) (r x : nat) : nat := nth 0 (nth [::] rows r) x.

Definition to_Z (n : int) : Z := match n with Posz m => Z.of_nat m | Negz m => Z.opp (Z.of_nat m.+1) end.

(** Shape and entries, row by row. *)
Definition one (n : nat) (f : nat -> int) : seq (seq Z) :=
  [:: [:: Z.of_nat n]; [seq to_Z (f i) | i <- iota 0 n]].
Definition two (m n : nat) (f : nat -> nat -> int) : seq (seq Z) :=
  [:: [seq Z.of_nat i | i <- [:: m; n]]; flatten [seq [seq to_Z (f i j) | j <- iota 0 n] | i <- iota 0 m]].
Definition three (l m n : nat) (f : nat -> nat -> nat -> int) : seq (seq Z) :=
  [:: [seq Z.of_nat i | i <- [:: l; m; n]];
      flatten [seq flatten [seq [seq to_Z (f h i j) | j <- iota 0 n] | i <- iota 0 m] | h <- iota 0 l]].

Definition export_layer (d : nat) (L : layer) : seq (seq Z) :=
  three (n_heads L) d (n_query L) (fQ L) ++ three (n_heads L) d (n_query L) (fK L) ++
  three (n_heads L) d (n_value L) (fV L) ++ three (n_heads L) (n_value L) d (fO L) ++
  two d (n_width L) (fin L) ++ one (n_width L) (fbin L) ++ two (n_width L) d (fout L) ++ one d (fbout L).

Definition flag (W : weights) : seq Z :=
  [:: Z.of_nat (match attends W with Uniform => 0 | Hardmax => 1 | Softmax => 2 end);
      Z.of_nat (adds W); Z.of_nat (masked W)].

(** Flags (attention, residual, causal), then shape and entries of W_E, W_pos, each block's tensors, W_U, b_U. *)
Definition export (N R answers positions : nat) (W : weights) : seq (seq Z) :=
  let d := dimension W in
  flag W :: two (N + R) d (fun t j => if t < N then subject W t j else relation W (t - N) j) ++
  two positions d (position W) ++ flatten [seq export_layer d L | L <- layers W] ++
  two d answers (unembed W) ++ one answers (unbias W).

(** Rows and shared, then times, top and length of each term. *)
Definition export_bound (bd : bound) : seq (seq Z) :=
  [seq Z.of_nat n | n <- [:: rows bd; shared bd]] ::
  [seq [seq Z.of_nat n | n <- [:: times t; top t; length t]] | t <- terms bd].

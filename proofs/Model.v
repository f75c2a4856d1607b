(** * Definitions: fact systems, transformers, and what it means to answer.

    All that a reader has to trust besides Coq: this file mirrors [theory/definitions/fact_system.py] and
    [theory/definitions/transformer.py] line by line. Tokens are the entities 0..N-1 followed by the relations N..N+R-1;
    the weights have the names and shapes of [theory.definitions.transformer], over any ordered field F (the rationals,
    the reals). Softmax takes the function s |-> exp(beta * s) as a part of the model, so that only the value of beta
    needs real numbers.

    Main definitions: [fact_system], [bijections], [follow], [transformer], [logits], [predicts],
    [predicts_with_margin], [prompt], [answers_all], [answers_chain], [universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Fact systems and words *)

(** R maps of N entities to themselves. *)
Definition fact_system (N R : nat) := {ffun 'I_R -> {ffun 'I_N -> 'I_N}}.

(** g_w(x): the word w is followed from left to right. *)
Definition follow (N R : nat) (g : fact_system N R) (w : seq 'I_R) (x : 'I_N) : 'I_N :=
  foldl (fun y r => g r y) x w.

(** R permutations of N entities; they are a fact system. *)
Definition bijections (N R : nat) := {ffun 'I_R -> {perm 'I_N}}.
Definition facts_of (N R : nat) (g : bijections N R) : fact_system N R := [ffun r => [ffun x => g r x]].
Coercion facts_of : bijections >-> fact_system.

Lemma facts_ofE (N R : nat) (g : bijections N R) r x : facts_of g r x = g r x.
Proof. by rewrite !ffunE. Qed.

(** ** Transformers *)

(** How the keys that a query sees are weighed: equally; those of largest score, equally; by exp(beta * score). *)
Variant attention := Uniform | Hardmax | Softmax.

Section Transformer.
Variable F : realFieldType.

(** One block for embedding dimension d: attention heads and a one-hidden-layer ReLU MLP, as
    [theory.definitions.transformer.Block]. *)
Record block (d : nat) := Block {
  heads : nat; d_query : nat; d_value : nat; width : nat;
  W_Q : 'I_heads -> 'M[F]_(d, d_query);
  W_K : 'I_heads -> 'M[F]_(d, d_query);
  W_V : 'I_heads -> 'M[F]_(d, d_value);
  W_O : 'I_heads -> 'M[F]_(d_value, d);
  W_in : 'M[F]_(d, width);
  b_in : 'rV[F]_width;
  W_out : 'M[F]_(width, d);
  b_out : 'rV[F]_d
}.
Arguments W_Q {d} b _.
Arguments W_K {d} b _.
Arguments W_V {d} b _.
Arguments W_O {d} b _.

(** The weights of a transformer over N entities and R relations, read out over [answers] answers, for embedding
    dimension d. [W_pos] has a row for every position; [exp_beta] is s |-> exp(beta * s), for softmax attention only. *)
Record transformer (N R answers d : nat) := Transformer {
  W_E : 'M[F]_(N + R, d);
  W_pos : nat -> 'rV[F]_d;
  blocks : seq (block d);
  W_U : 'M[F]_(d, answers);
  b_U : 'rV[F]_answers;
  kind : attention;
  residual : bool;
  causal : bool;
  exp_beta : F -> F
}.

Definition relu (m n : nat) (A : 'M[F]_(m, n)) : 'M[F]_(m, n) := map_mx (Num.max 0) A.

(** A row added to every row of a matrix. *)
Definition every_row (n d : nat) (b : 'rV[F]_d) : 'M[F]_(n, d) := \matrix_(t, j) b 0 j.

(** With a causal mask a position sees itself and what is before it, otherwise the whole prompt. *)
Definition sees (causal : bool) (t s : nat) : bool := ~~ causal || (s <= t)%N.

(** Attention weights [queries, keys] from scores [queries, keys]. *)
Definition pattern (kind : attention) (causal : bool) (e : F -> F) (n : nat) (scores : 'M[F]_n) : 'M[F]_n :=
  let allowed (t s : 'I_n) : F :=
    if sees causal t s then
      match kind with
      | Uniform => 1
      | Hardmax => if [forall s' : 'I_n, sees causal t s' ==> (scores t s' <= scores t s)] then 1 else 0
      | Softmax => e (scores t s)
      end
    else 0 in
  \matrix_(t, s) (allowed t s / \sum_s' allowed t s').

Section Run.
Variables (N R answers d : nat) (M : transformer N R answers d).

Definition apply_block (n : nat) (stream : 'M[F]_(n, d)) (B : block d) : 'M[F]_(n, d) :=
  let scores h := (stream *m W_Q B h) *m (stream *m W_K B h)^T in
  let weights h := pattern (kind M) (causal M) (exp_beta M) (scores h) in
  let attended := \sum_h weights h *m stream *m W_V B h *m W_O B h in
  let middle := if residual M || (heads B == 0)%N then stream + attended else attended in
  let hidden := relu (middle *m W_in B + every_row n (b_in B)) in
  let output := hidden *m W_out B + every_row n (b_out B) in
  if residual M then middle + output else output.

Definition embed (n : nat) (tokens : n.-tuple 'I_(N + R)) : 'M[F]_(n, d) :=
  \matrix_(t, j) (W_E M (tnth tokens t) j + W_pos M t 0 j).

(** Logits at the last position. *)
Definition logits (n : nat) (tokens : n.+1.-tuple 'I_(N + R)) : 'rV[F]_answers :=
  row ord_max (foldl (@apply_block n.+1) (embed tokens) (blocks M)) *m W_U M + b_U M.

(** The prediction is the argmax, a tie is a failure: [a] is predicted iff its logit is larger than every other. *)
Definition predicts (n : nat) (tokens : n.+1.-tuple 'I_(N + R)) (a : 'I_answers) : Prop :=
  forall a', a' != a -> logits tokens 0 a' < logits tokens 0 a.

Definition predicts_with_margin (m : F) (n : nat) (tokens : n.+1.-tuple 'I_(N + R)) (a : 'I_answers) : Prop :=
  forall a', a' != a -> logits tokens 0 a' + m <= logits tokens 0 a.

End Run.

(** The prompt (x, r_1 .. r_k) of a query. *)
Definition prompt (N R k : nat) (x : 'I_N) (w : k.-tuple 'I_R) : k.+1.-tuple 'I_(N + R) :=
  cons_tuple (lshift R x) (map_tuple (@rshift N R) w).

(** Every query of k hops is answered by the first token emitted. *)
Definition answers_all (N R d : nat) (M : transformer N R N d) (k : nat) (g : fact_system N R) : Prop :=
  forall (x : 'I_N) (w : k.-tuple 'I_R), predicts M (prompt x w) (follow g w x).

Definition answers_all_with_margin (N R d : nat) (M : transformer N R N d) (k : nat) (m : F) (g : fact_system N R) :
    Prop :=
  forall (x : 'I_N) (w : k.-tuple 'I_R), predicts_with_margin M m (prompt x w) (follow g w x).

(** ** Chains of thought *)

(** After a prompt the model emits the given entities one by one, its own tokens being appended to the prompt;
    [ok tokens a] says in which sense it emits [a]. *)
Fixpoint emits (N R : nat) (ok : forall n, n.+1.-tuple 'I_(N + R) -> 'I_N -> Prop) (n : nat)
    (tokens : n.+1.-tuple 'I_(N + R)) (entities : seq 'I_N) : Prop :=
  if entities is a :: rest then ok n tokens a /\ emits ok [tuple of rcons tokens (lshift R a)] rest else True.

(** The honest chain: the entities that the prefixes of w of the given lengths lead to. *)
Definition honest_chain (N R : nat) (g : fact_system N R) (w : seq 'I_R) (x : 'I_N) (lengths : seq nat) : seq 'I_N :=
  [seq follow g (take l w) x | l <- lengths].

(** Every chain of thought for k hops, one entity after each prefix length, is right at every step
    ([theory.definitions.task]; T3: the lengths are 1..k). *)
Definition answers_chain (N R d : nat) (M : transformer N R N d) (k : nat) (lengths : seq nat) (g : fact_system N R) :
    Prop :=
  forall (x : 'I_N) (w : k.-tuple 'I_R), emits (@predicts N R N d M) (prompt x w) (honest_chain g w x lengths).

Definition answers_chain_with_margin (N R d : nat) (M : transformer N R N d) (k : nat) (lengths : seq nat) (m : F)
    (g : fact_system N R) : Prop :=
  forall (x : 'I_N) (w : k.-tuple 'I_R),
    emits (@predicts_with_margin N R N d M m) (prompt x w) (honest_chain g w x lengths).

(** ** What may depend on the facts *)

(** The transformer with another subject table: nothing else changes. *)
Definition with_subjects (N R answers d : nat) (M : transformer N R answers d) (E : 'M[F]_(N, d)) :
    transformer N R answers d :=
  {| W_E := col_mx E (dsubmx (W_E M)); W_pos := W_pos M; blocks := blocks M; W_U := W_U M; b_U := b_U M;
     kind := kind M; residual := residual M; causal := causal M; exp_beta := exp_beta M |}.

(** The transformer with another read-out (its bias stays): nothing else changes. *)
Definition with_readout (N R answers d : nat) (M : transformer N R answers d) (U : 'M[F]_(d, answers)) :
    transformer N R answers d :=
  {| W_E := W_E M; W_pos := W_pos M; blocks := blocks M; W_U := U; b_U := b_U M;
     kind := kind M; residual := residual M; causal := causal M; exp_beta := exp_beta M |}.

(** A construction is universal, with a fixed read-out, if nothing but the subject table depends on the facts. *)
Definition universal (N R answers d : nat) (construct : fact_system N R -> transformer N R answers d) : Prop :=
  forall g g', exists E, construct g' = with_subjects (construct g) E.

(** The widths of the MLPs, block by block. *)
Definition widths (N R answers d : nat) (M : transformer N R answers d) : seq nat := [seq width B | B <- blocks M].

End Transformer.

Arguments W_Q {F d} b _.
Arguments W_K {F d} b _.
Arguments W_V {F d} b _.
Arguments W_O {F d} b _.
Arguments apply_block {F N R answers d} M {n} stream B : simpl never.

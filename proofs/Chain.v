(** * Chains of thought, step by step ([theory/definitions/task.py]).

    [emits_steps]: a chain is right at every step if the model's answer is right after each right beginning of it. The
    rest says which token stands at which position of such a beginning: the subject, the k relations, and the entities
    emitted so far. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Words Reading.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The steps of a chain that emits every entity. *)
Lemma each_step k done l rest : done ++ l :: rest = iota 1 k ->
  [/\ done = iota 1 (size done), l = (size done).+1 & size done < k].
Proof.
move=> lengths; have i_k : size done < k by have := congr1 size lengths; rewrite size_cat size_iota /=; lia.
have := congr1 (take (size done)) lengths; have := congr1 (nth 0 ^~ (size done)) lengths.
rewrite take_size_cat // nth_cat ltnn subnn /= => l_nth done_i.
by split=> //; [rewrite {1}done_i take_iota (minn_idPl (ltnW i_k)) | rewrite l_nth nth_iota].
Qed.

Section Chain.
Variables (N R k : nat) (g : fact_system N R) (x : 'I_N) (w : k.-tuple 'I_R).
Variable ok : forall n, n.+1.-tuple 'I_(N + R) -> 'I_N -> Prop.

(** The prompt and the entities emitted so far. *)
Definition begun (done : seq nat) : seq 'I_(N + R) := prompt x w ++ map (lshift R) (honest_chain g w x done).

Lemma emits_after done rest n (tokens : n.+1.-tuple 'I_(N + R)) : tval tokens = begun done ->
    (forall done' l rest' n (tokens : n.+1.-tuple 'I_(N + R)), done' ++ l :: rest' = done ++ rest ->
       tval tokens = begun done' -> ok tokens (follow g (take l w) x)) ->
  emits ok tokens (honest_chain g w x rest).
Proof.
elim: rest done n tokens => [//|l rest IH] done n tokens is_begun right /=; split; first exact: (right done l rest).
apply: (IH (rcons done l)); last by rewrite cat_rcons.
by rewrite /= is_begun /begun /honest_chain !map_rcons -rcons_cat.
Qed.

Lemma emits_steps lengths :
    (forall done l rest n (tokens : n.+1.-tuple 'I_(N + R)), done ++ l :: rest = lengths -> tval tokens = begun done ->
       ok tokens (follow g (take l w) x)) ->
  emits ok (prompt x w) (honest_chain g w x lengths).
Proof. by move=> right; apply: (@emits_after [::]) => //; rewrite /begun cats0. Qed.

Section Tokens.
Variables (n : nat) (tokens : n.+1.-tuple 'I_(N + R)) (done : seq nat).
Hypothesis is_begun : tval tokens = begun done.

Lemma size_begun : n = (k + size done)%N.
Proof.
have := size_tuple tokens; rewrite is_begun /begun size_cat !size_map /= size_map size_tuple.
by rewrite addSn => /succn_inj.
Qed.

Lemma begun_subject : token_at tokens 0 = x.
Proof. by rewrite /token_at is_begun. Qed.

Lemma begun_relation t : t < k -> token_at tokens t.+1 = N + nth 0 (numbers w) t.
Proof.
move=> t_k; rewrite -(token_relation x w t_k) /token_at is_begun /begun map_cat nth_cat.
by rewrite size_map size_tuple ltnS t_k.
Qed.

Lemma begun_entity i : i < size done -> token_at tokens (k + i.+1) = follow g (take (nth 0 done i) w) x.
Proof.
move=> i_done; rewrite /token_at is_begun /begun map_cat nth_cat size_map size_tuple addnS ltnS ltnNge leq_addr /=.
by rewrite subSS addKn /honest_chain -!map_comp (nth_map 0).
Qed.
End Tokens.
End Chain.

(** * Chains of thought that emit every j-th entity: what the heads read, whatever the blocks and the MLP are.
    Mirrors [constructions.weights.t3b._assemble].

    In s = ⌈k/j⌉ steps, the first of ρ = k - (s-1)·j hops, head 0 reads the entity and the j other heads, the slots, the
    relations of the step; in a shorter first step these are right-aligned, and the slots left over read the subject,
    whose relation code is zero. Relations have the numbers 1..R, so that an empty slot is the number 0 ([slots]).
    [stride_logits] says what arrives, [slots] which word stands in the slots, [gates] what they write. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Words Reading Chain T3.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The steps ([theory/definitions/task.py]) *)

Definition steps (k j : nat) : nat := ((k + j.-1) %/ j)%N.
Definition first_step (k j : nat) : nat := (k - (steps k j).-1 * j)%N.

(** The prefixes of the word that are answered. *)
Definition stride_lengths (k j : nat) : seq nat := [seq (first_step k j + i * j)%N | i <- iota 0 (steps k j)].

Lemma stride_sizes k j : (0 < j <= k)%N ->
  [/\ (0 < steps k j)%N, (0 < first_step k j <= j)%N & (first_step k j + (steps k j).-1 * j = k)%N].
Proof.
case/andP=> j0 j_k; have s0 : (0 < steps k j)%N by rewrite divn_gt0 //; lia.
have low : (steps k j * j <= k + j.-1)%N by rewrite leq_trunc_div.
have high : (k + j.-1 < (steps k j).+1 * j)%N by rewrite -ltn_divLR.
by rewrite /first_step; move: (steps k j) s0 low high => [//|s] _ /= low high; split => //; nia.
Qed.

Lemma each_stride k j done l rest : done ++ l :: rest = stride_lengths k j ->
  [/\ done = [seq (first_step k j + i * j)%N | i <- iota 0 (size done)], l = (first_step k j + size done * j)%N &
      (size done < steps k j)%N].
Proof.
move=> lengths; have i_s : (size done < steps k j)%N.
  by have := congr1 size lengths; rewrite size_cat size_map size_iota /=; lia.
have := congr1 (take (size done)) lengths; have := congr1 (nth 0%N ^~ (size done)) lengths.
rewrite take_size_cat // nth_cat ltnn subnn /= (nth_map 0%N) ?size_iota // nth_iota // add0n => -> {1}->.
by rewrite /stride_lengths -map_take take_iota (minn_idPl (ltnW i_s)).
Qed.

(** ** The word of a step *)

(** J places for a word, right-aligned: 0 for an empty place, 1 + r for relation r. *)
Definition padded (J : nat) (word : seq nat) : seq nat := nseq (J - size word) 0%N ++ map succn word.

Lemma size_padded J word : (size word <= J)%N -> size (padded J word) = J.
Proof. by move=> word_J; rewrite size_cat size_nseq size_map subnK. Qed.

Lemma padded_inj J u v : padded J u = padded J v -> u = v.
Proof.
move/(congr1 (filter (fun z => z != 0%N))); rewrite /padded !filter_cat !filter_nseq /=.
by rewrite !(all_filterP _) ?all_map ?all_predT //; move=> /inj_map; apply=> a b [].
Qed.

Lemma padded_small J R word m : all (fun r => r < R)%N word -> (nth 0%N (padded J word) m < 1 + R)%N.
Proof.
move=> small; rewrite nth_cat nth_nseq size_nseq if_same; case: (ltnP m (J - size word)) => _ //.
case: (ltnP (m - (J - size word)) (size word)) => m_lt; last by rewrite nth_default ?size_map.
by rewrite (nth_map 0%N) // add1n ltnS; apply: (allP small); apply: mem_nth.
Qed.

Section Word.
Variables (R k j : nat) (w : k.-tuple 'I_R) (i : nat).
Hypotheses (j_k : (0 < j <= k)%N) (i_s : (i < steps k j)%N).
Let rho := first_step k j.

(** How far the word is followed already. *)
Definition followed : nat := if i is i'.+1 then (rho + i' * j)%N else 0%N.
(** The relations of the step. *)
Definition asked_word : seq 'I_R := drop followed (take (rho + i * j) w).

Lemma asked_end : (rho + i * j <= k)%N.
Proof.
have [_ _ end_k] := stride_sizes j_k; rewrite /rho.
by move: (steps k j) (first_step k j) i_s end_k => [//|s] r; rewrite ltnS /=; nia.
Qed.

Lemma size_asked : size asked_word = if i is 0 then rho else j.
Proof.
have end_k := asked_end; rewrite size_drop size_takel ?size_tuple // /followed.
by case: (i) => [|i']; rewrite ?subn0 ?mul0n ?addn0 // mulSn; lia.
Qed.

(** The number of the relation at a position, 0 for entities. *)
Definition number_at (t : nat) : nat := if (0 < t <= k)%N then (nth 0%N (numbers w) t.-1).+1 else 0%N.

Lemma number_small t : (number_at t < 1 + R)%N.
Proof.
rewrite /number_at; case: t => [|t] //; case: ifP => // /andP[_ t_k] /=.
by rewrite add1n ltnS; apply: (numbers_small (w := w)); apply: mem_nth; rewrite size_numbers.
Qed.

(** Where slot m + 1 reads: the subject if it is empty. *)
Definition slot_at (m : nat) : nat := (rho + i * j + m.+1 - j)%N.

Lemma slot_n m : (m < j)%N -> (slot_at m <= k)%N.
Proof. by move=> m_j; have := asked_end; rewrite /slot_at; lia. Qed.

(** The slots hold the word of the step. *)
Lemma slots m : (m < j)%N -> number_at (slot_at m) = nth 0%N (padded j (map val asked_word)) m.
Proof.
move=> m_j; have end_k := asked_end; have [_ /andP[rho0 rho_j] _] := stride_sizes j_k; rewrite -/rho in rho0 rho_j.
rewrite /padded size_map size_asked nth_cat nth_nseq size_nseq if_same /number_at /slot_at.
have word p : (p < size asked_word)%N ->
    nth 0%N (map succn (map val asked_word)) p = (nth 0%N (numbers w) (followed + p)).+1.
  move=> p_lt; rewrite (nth_map 0%N) ?size_map //; congr _.+1.
  rewrite /asked_word /numbers map_drop nth_drop map_take nth_take //.
  by move: p_lt; rewrite /asked_word size_drop size_takel ?size_tuple //; lia.
case: (ltnP m (j - if i is 0 then rho else j)) => m_rho.
  by rewrite ifN //; case: (i) m_rho end_k => [|i'] m_rho end_k; lia.
rewrite word ?size_asked; last by case: (i) m_rho => *; lia.
rewrite ifT; last by case: (i) m_rho end_k => *; nia.
by congr (nth _ _ _).+1; rewrite /followed; case: (i) m_rho end_k => [|i'] m_rho end_k; rewrite ?mulSn; lia.
Qed.

(** The entity that the word has led to. *)
Variables (N : nat) (g : fact_system N R) (x : 'I_N).
Definition standing : 'I_N := follow g (take followed w) x.

Lemma followed_asked : follow g (take (rho + i * j) w) x = follow g asked_word standing.
Proof.
rewrite /standing /asked_word -[in LHS](cat_take_drop followed (take (rho + i * j) w)) {1}/follow foldl_cat.
rewrite -/(follow _ _ _) -/(follow _ _ _); congr (follow _ _ (follow _ _ _)).
by rewrite take_take // /followed; case: (i) => // i'; rewrite mulSn; lia.
Qed.
End Word.

(** ** The weights: blocks, the relation code, then (t, t²) *)

Section Weights.
Variables (R k j entries w : nat) (subj : nat -> nat -> int) (gate : nat -> nat -> nat -> int).
Variables (W_in : nat -> nat -> int) (b_in : nat -> int) (W_out : nat -> nat -> int).
Variables (W_U : nat -> nat -> int) (b_U : nat -> int).
Let c := columns R 1.
Let place := (entries + 2)%N.

Definition stride_position (t i : nat) : int :=
  if (i == place)%N then t%:Z else if (i == place.+1)%N then (t ^ 2)%N%:Z else 0.

(** Head 0 scores τ·(t - (k+1)·z), slot m = h the score τ·(2st - t²), s = ρ + (τ-k-1)·j + m. *)
Definition stride_query (h i v : nat) : int :=
  match h, v with
  | 0, 0 => if (i == place)%N then 1 else 0
  | 0, _ => 0
  | _, 0 => if (i == place)%N then 2 * ((first_step k j + h)%N%:Z - (k.+1 * j)%N%:Z)
            else if (i == place.+1)%N then (2 * j)%N%:Z else 0
  | _, _ => if (i == place)%N then -1 else 0
  end.
Definition stride_key (h i v : nat) : int :=
  match h, v with
  | 0, 0 => if (i == place)%N then 1 else if (i == entries)%N then - k.+1%:Z else 0
  | 0, _ => 0
  | _, 0 => if (i == place)%N then 1 else 0
  | _, _ => if (i == place.+1)%N then 1 else 0
  end.

(** Head h + 1 writes [gate h v i] times coordinate v of its relation's code on coordinate i. *)
Definition stride_layer : layer :=
  {| n_heads := j.+1; n_query := 2; n_value := entries; n_width := w;
     fQ := stride_query; fK := stride_key;
     fV := fun h i v => if h is 0 then if (i == v)%N then 1 else 0
                        else if (i == entries + v)%N && (v < c)%N then 1 else 0;
     fO := fun h v i => if h is h'.+1 then if (v < c)%N && (i < entries)%N then gate h' v i else 0
                        else if (v == i)%N then 1 else 0;
     fin := W_in; fbin := b_in; fout := W_out; fbout := fun=> 0 |}.

Definition strided : weights :=
  {| dimension := (entries + 4)%N;
     subject := fun x i => if (i < entries)%N then subj x i else 0;
     relation := fun r i => if (entries <= i)%N then code R 1 r.+1 (i - entries) else 0;
     position := stride_position;
     layers := [:: stride_layer];
     unembed := W_U; unbias := b_U;
     attends := Hardmax; adds := false; masked := false |}.
End Weights.

Section Step.
Variables (F : realFieldType) (N R k j entries width : nat) (subj : nat -> nat -> int) (gate : nat -> nat -> nat -> int).
Variables (W_in : nat -> nat -> int) (b_in : nat -> int) (W_out : nat -> nat -> int).
Variables (W_U : nat -> nat -> int) (b_U : nat -> int).
Hypotheses (R1 : (0 < R)%N) (j_k : (0 < j <= k)%N) (c_entries : (columns R 1 <= entries)%N).
Let c := columns R 1.
Let W := strided R k j entries width subj gate W_in b_in W_out W_U b_U.
Let L := stride_layer R k j entries width gate W_in b_in W_out.
Let d := (entries + 4)%N.
Let rho := first_step k j.

Variables (g : fact_system N R) (x : 'I_N) (w : k.-tuple 'I_R) (i n : nat) (tokens : n.+1.-tuple 'I_(N + R)).
Hypotheses (i_s : (i < steps k j)%N)
  (is_begun : tval tokens = begun g x w [seq (rho + i' * j)%N | i' <- iota 0 i]).
Let st := stream_at W tokens.

Lemma stride_n : n = (k + i)%N.
Proof. by rewrite (size_begun is_begun) size_map size_iota. Qed.


Lemma standing_token : token_at tokens (current_at k i) = standing j w i g x.
Proof.
rewrite /current_at /standing /followed; case: (i) is_begun => [|i'] begun_i.
  by rewrite (begun_subject begun_i) take0.
by rewrite (begun_entity begun_i) ?size_map ?size_iota // (nth_map 0%N) ?size_iota // nth_iota // add0n.
Qed.

Lemma token_kind t : (t <= n)%N ->
  (exists2 y : 'I_N, token_at tokens t = y & number_at w t = 0%N) \/
  (exists2 r : 'I_R, token_at tokens t = (N + r)%N & number_at w t = r.+1).
Proof.
have n_i := stride_n; rewrite /number_at; case: t => [|t] t_n; first by left; exists x => //; exact: (begun_subject is_begun).
case: (leqP t.+1 k) => t_k; [right | left].
  exists (tnth w (Ordinal t_k)); rewrite ?(begun_relation is_begun) // (tnth_nth (tnth w (Ordinal t_k)));
    by rewrite /numbers (nth_map (tnth w (Ordinal t_k))) ?size_tuple.
have t_i : (t - k < i)%N by lia.
have size_i : (t - k < size [seq (rho + i' * j)%N | i' <- iota 0 i])%N by rewrite size_map size_iota.
by have := begun_entity is_begun size_i; rewrite addnS subnKC // => ->; eexists.
Qed.

(** What stands in a position beside the blocks. *)
Lemma st_code t v : (t <= n)%N -> (v < 2)%N -> st t (entries + v)%N = code R 1 (number_at w t) v.
Proof.
move=> t_n v2; have low : ((entries + v < entries)%N = false) /\ ((entries + v == entries + 2)%N = false) /\
    ((entries + v == (entries + 2).+1)%N = false) by lia.
case: low => low [no2 no3].
rewrite /st /stream_at /start /= /stride_position no2 no3 low leq_addr addKn addr0.
case: (token_kind t_n) => [[y -> ->]|[r -> ->]]; last by rewrite ltnNge leq_addr /= addKn.
by rewrite ltn_ord /code; case: ifP => // _; case: v {v2 low no2 no3}.
Qed.

Lemma st_after t v : st t (entries + 2 + v)%N = stride_position entries t (entries + 2 + v)%N.
Proof.
have low : (entries + 2 + v < entries)%N = false by lia.
have high : (entries <= entries + 2 + v)%N by lia.
have zero r : code R 1 r (entries + 2 + v - entries) = 0.
  by rewrite /code ifN // -leqNgt /columns; lia.
by rewrite /st /stream_at /start /= low high zero if_same add0r.
Qed.

Lemma st_place t : st t (entries + 2)%N = t%:Z.
Proof. by rewrite -[(entries + 2)%N]addn0 st_after addn0 /stride_position eqxx. Qed.

Lemma st_square t : st t (entries + 3)%N = (t ^ 2)%N%:Z.
Proof.
have -> : (entries + 3 = entries + 2 + 1)%N by lia.
by rewrite st_after /stride_position addn1 eqxx ifN //; lia.
Qed.

Lemma st_block t (y : 'I_N) e : token_at tokens t = y -> (e < entries)%N -> st t e = subj y e.
Proof.
move=> tok e_lt; rewrite /st /stream_at /start tok ltn_ord /= e_lt /stride_position.
by rewrite !ifN ?addr0 //; lia.
Qed.

Lemma last_four (f h : nat -> int) : (forall e, (e < entries)%N -> h e = 0) ->
  \sum_(e < d) f e * h e = f entries * h entries + f (entries + 1)%N * h (entries + 1)%N +
    f (entries + 2)%N * h (entries + 2)%N + f (entries + 3)%N * h (entries + 3)%N.
Proof.
move=> h0; rewrite big_split_ord /= big1 => [|e _]; last by rewrite h0 ?mulr0.
by rewrite add0r !big_ord_recl big_ord0 /bump /= addn0 addr0 !addrA.
Qed.

Let eqs : [/\ (entries == entries + 2 = false)%N, (entries == (entries + 2).+1 = false)%N,
  (entries + 1 == entries + 2 = false)%N, (entries + 1 == (entries + 2).+1 = false)%N &
  [/\ (entries + 3 == entries + 2 = false)%N, (entries + 2 == (entries + 2).+1 = false)%N,
      (entries + 3 == (entries + 2).+1)%N, (entries + 1 == entries = false)%N &
      [/\ (entries + 2 == entries = false)%N & (entries + 3 == entries = false)%N]]].
Proof. by repeat split; lia. Qed.

Let below e : (e < entries)%N ->
  [/\ (e == entries + 2 = false)%N, (e == (entries + 2).+1 = false)%N & (e == entries = false)%N].
Proof. by move=> e_lt; split; lia. Qed.

Lemma scoreE u v h : score W L u v h =
  (\sum_(e < d) u e * stride_query k j entries h e 0) * (\sum_(e < d) v e * stride_key k entries h e 0) +
  (\sum_(e < d) u e * stride_query k j entries h e 1) * (\sum_(e < d) v e * stride_key k entries h e 1).
Proof. by rewrite /score !big_ord_recl big_ord0 addr0. Qed.

Lemma score_entity s : (s <= n)%N -> score W L (st n) (st s) 0 = n%:Z * (s%:Z - (k.+1 * number_at w s)%N%:Z).
Proof.
move=> s_n; have st0 : st s entries = (number_at w s)%:Z.
  have c0 : (0 < columns R 1)%N by rewrite /columns; lia.
  by rewrite -[X in st s X]addn0 st_code // /code c0.
case: eqs => e1 e2 e3 e4 [e5 e6 e7 e8 [e9 e10]].
rewrite scoreE (last_four (st n) (h := stride_query k j entries 0 ^~ 0%N)) ?(last_four (st n) (h := stride_query k j entries 0 ^~ 1%N))
  ?(last_four (st s) (h := stride_key k entries 0 ^~ 0%N)) ?(last_four (st s) (h := stride_key k entries 0 ^~ 1%N));
  try by move=> e /below[b1 b2 b3]; rewrite /= ?b1 ?b2 ?b3.
rewrite /= e1 e3 e5 e8 e10 !eqxx !st_place st0; lia.
Qed.

Lemma score_slot m s : score W L (st n) (st s) m.+1 =
  n%:Z * (2 * ((rho + i * j + m.+1)%N%:Z - j%:Z) * s%:Z - (s ^ 2)%N%:Z).
Proof.
case: eqs => e1 e2 e3 e4 [e5 e6 e7 e8 [e9 e10]].
rewrite scoreE (last_four (st n) (h := stride_query k j entries m.+1 ^~ 0%N))
  ?(last_four (st n) (h := stride_query k j entries m.+1 ^~ 1%N))
  ?(last_four (st s) (h := stride_key k entries m.+1 ^~ 0%N)) ?(last_four (st s) (h := stride_key k entries m.+1 ^~ 1%N));
  try by move=> e /below[b1 b2 b3]; rewrite /= ?b1 ?b2 ?b3.
rewrite /= e1 e2 e3 e4 e5 e6 e7 !eqxx !st_place !st_square stride_n -/rho.
by move: rho => r; nia.
Qed.

Lemma standing_n : (current_at k i <= n)%N.
Proof. by have n_i := stride_n; rewrite /current_at; case: (i) n_i => *; lia. Qed.

Let n0 : 0 < n%:Z.
Proof. by rewrite ltz_nat stride_n; case/andP: j_k; lia. Qed.

Lemma reads_standing s : (s <= n)%N -> s != current_at k i ->
  score W L (st n) (st s) 0 < score W L (st n) (st (current_at k i)) 0.
Proof.
move=> s_n differ; rewrite !score_entity ?standing_n // ltr_pmul2l //.
have n_i := stride_n; move: differ s_n; rewrite /number_at /current_at n_i.
by case: (i) => [|i'] differ s_n; rewrite /= ?addnS ?ltnNge ?leq_addr /=; case: ifP; nia.
Qed.

Lemma reads_slot m s : (m < j)%N -> (s <= n)%N -> s != slot_at k j i m ->
  score W L (st n) (st s) m.+1 < score W L (st n) (st (slot_at k j i m)) m.+1.
Proof.
move=> m_j s_n differ; rewrite !score_slot ltr_pmul2l //; move: differ; rewrite /slot_at.
by move: (rho + i * j + m.+1)%N => r differ; case: (leqP r j) => r_j; nia.
Qed.

(** What the heads hand on. *)
Definition arrives (e : nat) : int :=
  if (e < entries)%N then
    subj (standing j w i g x) e + \sum_(m < j) \sum_(v < c) code R 1 (number_at w (slot_at k j i m)) v * gate m v e
  else 0.

Lemma stride_logits a : logits (over F N R N W) tokens 0 a = (\sum_(e < d) mlp d L arrives e * W_U e a + b_U a)%:~R.
Proof.
pose target h := if h is m.+1 then slot_at k j i m else current_at k i.
have target_n h : (h < j.+1)%N -> (target h <= n)%N.
  case: h => [|m] h_j; first exact: standing_n.
  by apply: leq_trans (slot_n j_k i_s _) _ => //; rewrite stride_n leq_addr.
rewrite (@logits_hardmax F (fun=> 0) N R N n W L erefl tokens target) //; last first.
  by move=> h s h_j s_n; case: h h_j => [|m] h_j; [apply: reads_standing | apply: reads_slot].
congr (_%:~R); congr (_ + _); apply: eq_bigr => e _; congr (_ * _); rewrite /= add0r.
apply: eq_mlp => {}e; rewrite /= add0r big_ord_recl /= /arrives.
have entity : \sum_(v < entries) (\sum_(l < d) st (current_at k i) l * (if (l == v :> nat)%N then 1 else 0)) *
    (if (v == e :> nat)%N then 1 else 0) = if (e < entries)%N then subj (standing j w i g x) e else 0.
  case: ltnP => [e_lt|lt_e]; last by rewrite big1 // => v _; rewrite ifN ?mulr0 // neq_ltn (leq_trans (ltn_ord v) lt_e).
  rewrite (@sum_delta _ (fun v => \sum_(l < d) st (current_at k i) l * (if (l == v :> nat)%N then 1 else 0))) // mulr1.
  by rewrite sum_delta ?mulr1 ?(st_block standing_token) // (leq_trans e_lt) ?leq_addr.
have slot m : (m < j)%N -> \sum_(v < entries) (\sum_(l < d) st (slot_at k j i m) l *
      (if (l == entries + v :> nat)%N && (v < c)%N then 1 else 0)) * (if (v < c)%N && (e < entries)%N then gate m v e else 0) =
    if (e < entries)%N then \sum_(v < c) code R 1 (number_at w (slot_at k j i m)) v * gate m v e else 0.
  move=> m_j; case: (ltnP e entries) => e_lt; last by rewrite big1 // => v _; rewrite andbF mulr0.
  rewrite (big_ord_widen _ (fun v => code R 1 (number_at w (slot_at k j i m)) v * gate m v e) c_entries) [RHS]big_mkcond /=.
  apply: eq_bigr => v _; rewrite andbT; case: ifP => v_c; last by rewrite mulr0.
  have v2 : (v < 2)%N by apply: leq_trans v_c _; rewrite /c /columns; lia.
  congr (_ * _); rewrite (eq_bigr (fun l : 'I_d => st (slot_at k j i m) l * (if (l == entries + v :> nat)%N then 1 else 0))) => [|l _];
    rewrite ?andbT // sum_delta ?mulr1 ?ltn_add2l ?(leq_trans v2) // st_code //.
  by apply: leq_trans (slot_n j_k i_s m_j) _; rewrite stride_n leq_addr.
rewrite entity (eq_bigr (fun m : 'I_j => if (e < entries)%N then
  \sum_(v < c) code R 1 (number_at w (slot_at k j i m)) v * gate m v e else 0)) => [|m _]; last by rewrite /= slot.
by case: ifP => // _; rewrite big1 // addr0.
Qed.
End Step.

(** Two lists of numbers of one size: how far they are apart. *)
Definition apart (J : nat) (z z' : seq nat) : int := \sum_(m < J) ((nth 0%N z m)%:Z - (nth 0%N z' m)%:Z) ^+ 2.

Lemma apart_same J z : apart J z z = 0.
Proof. by apply: big1 => m _; rewrite subrr expr0n. Qed.

Lemma apart_other J z z' : size z = J -> size z' = J -> z != z' -> 1 <= apart J z z'.
Proof.
move=> z_J z'_J differ.
have [/existsP[m differ_m]|] := boolP [exists m : 'I_J, nth 0%N z m != nth 0%N z' m]; last first.
  rewrite negb_exists => /forallP same; case/eqP: differ; apply: (@eq_from_nth _ 0%N) => [|m m_J]; rewrite ?z_J //.
  by rewrite z_J in m_J; have := same (Ordinal m_J); rewrite negbK => /eqP.
rewrite /apart (bigD1 m) //=; set rest := \sum_(j < J | _) _.
have rest0 : 0 <= rest by apply: sumr_ge0 => l _; apply: sqr_ge0.
by move: differ_m; move: (nth _ _ _) (nth _ _ _) => u v; rewrite expr2; case: (ltngtP u v) => // uv _; nia.
Qed.

(** What the slots write with these gates, c times how far they are from t, up to a constant. *)
Lemma gates R J c (z t : seq nat) : (0 < R)%N -> (forall m, nth 0%N z m < 1 + R)%N -> (forall m, nth 0%N t m < 1 + R)%N ->
  \sum_(m < J) \sum_(v < columns R 1) code R 1 (nth 0%N z m) v * (c * linear R 1 (nth 0%N t m) v) =
  c * apart J z t - c * sum J (fun m => constant R 1 (nth 0%N t m)).
Proof.
move=> R0 z_small t_small; rewrite sumE -mulrBr /apart -sumrB mulr_sumr; apply: eq_bigr => m _.
rewrite -(mismatchE R0 (leqnn 1) (z_small m) (t_small m)) addrK mulr_sumr.
by apply: eq_bigr => v _; rewrite mulrCA.
Qed.

(** * Weights as formulas: numbers of row and column to an integer.

    A construction is a [weights]: sizes, flags, and for each tensor a formula for its entries. [over] makes the
    transformer over an ordered field whose matrices are those very formulas; [Export] evaluates the same formulas, so
    that a theorem is about the numbers that [constructions] builds. The lemmas say what a block does to integers:
    whatever its heads attend to exactly, the streams are integers again.

    Main definitions: [weights], [over]. Main lemmas: [block_row], [attend_two], [attend_target], [logits_one]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Formulas *)

Record layer := Layer {
  n_heads : nat; n_query : nat; n_value : nat; n_width : nat;
  fQ : nat -> nat -> nat -> int;      (* head, row, column *)
  fK : nat -> nat -> nat -> int;
  fV : nat -> nat -> nat -> int;
  fO : nat -> nat -> nat -> int;
  fin : nat -> nat -> int;
  fbin : nat -> int;
  fout : nat -> nat -> int;
  fbout : nat -> int
}.

Record weights := Weights {
  dimension : nat;
  subject : nat -> nat -> int;        (* entity, coordinate *)
  relation : nat -> nat -> int;       (* relation, coordinate *)
  position : nat -> nat -> int;       (* position, coordinate *)
  layers : seq layer;
  unembed : nat -> nat -> int;        (* coordinate, answer *)
  unbias : nat -> int;
  attends : attention;
  adds : bool;                        (* the residual stream *)
  masked : bool                       (* the causal mask *)
}.

(** The answers as a table of numbers: [table g r x]. *)
Definition table (N R : nat) (g : fact_system N R) (r x : nat) : nat :=
  if insub r is Some r' then if insub x is Some x' then g r' x' else 0%N else 0%N.

Lemma table_ord N R (g : fact_system N R) (r : 'I_R) (x : 'I_N) : table g r x = g r x.
Proof. by rewrite /table !valK. Qed.

(** A sum that Coq can evaluate. *)
Definition sum (n : nat) (f : nat -> int) : int := foldr (fun i s => f i + s) 0 (iota 0 n).

Lemma sumE n f : sum n f = \sum_(i < n) f i.
Proof. by rewrite /sum -(big_mkord xpredT f) unlock /reducebig /index_iota subn0. Qed.

Section Over.
Variable F : realFieldType.

Definition matrix (m n : nat) (f : nat -> nat -> int) : 'M[F]_(m, n) := \matrix_(i, j) (f i j)%:~R.
Definition vector (n : nat) (f : nat -> int) : 'rV[F]_n := \row_j (f j)%:~R.

Definition block_over (d : nat) (L : layer) : block F d :=
  {| heads := n_heads L; d_query := n_query L; d_value := n_value L; width := n_width L;
     W_Q := fun h => matrix _ _ (fQ L h); W_K := fun h => matrix _ _ (fK L h);
     W_V := fun h => matrix _ _ (fV L h); W_O := fun h => matrix _ _ (fO L h);
     W_in := matrix _ _ (fin L); b_in := vector _ (fbin L);
     W_out := matrix _ _ (fout L); b_out := vector _ (fbout L) |}.

(** The transformer over F with these weights; [e] is s |-> exp(beta * s), which softmax alone uses. *)
Definition over_with (e : F -> F) (N R answers : nat) (W : weights) : transformer F N R answers (dimension W) :=
  {| W_E := col_mx (matrix N _ (subject W)) (matrix R _ (relation W));
     W_pos := fun t => vector _ (position W t);
     blocks := [seq block_over _ L | L <- layers W];
     W_U := matrix _ _ (unembed W); b_U := vector _ (unbias W);
     kind := attends W; residual := adds W; causal := masked W; exp_beta := e |}.

Definition over := over_with (fun=> 0).

(** ** What the weights compute, in integers *)

(** The embedding of a token, given by its number, at a position. *)
Definition start (N : nat) (W : weights) (token t j : nat) : int :=
  (if (token < N)%N then subject W token j else relation W (token - N) j) + position W t j.

Lemma embed_over e N R A W n (tokens : n.-tuple 'I_(N + R)) :
  embed (over_with e N R A W) tokens = \matrix_(t, j) (start N W (tnth tokens t) t j)%:~R.
Proof.
apply/matrixP=> t j; rewrite !mxE /start rmorphD /=; congr (_ + _); by case: splitP => i ->; rewrite mxE ?addKn.
Qed.

(** The hidden layer and what it writes, for the entries [m] of the stream that it reads. *)
Definition hidden (d : nat) (L : layer) (m : nat -> int) (i : nat) : int :=
  Num.max 0 (\sum_(j < d) m j * fin L j i + fbin L i).
Definition mlp (d : nat) (L : layer) (m : nat -> int) (j : nat) : int :=
  \sum_(i < n_width L) hidden d L m i * fout L i j + fbout L j.

Lemma eq_hidden d L (m m' : nat -> int) i : (forall j : 'I_d, m j = m' j) -> hidden d L m i = hidden d L m' i.
Proof. by move=> same; rewrite /hidden; congr (Num.max 0 (_ + _)); apply: eq_bigr => j _; rewrite same. Qed.

Lemma eq_mlp d L (m m' : nat -> int) j : (forall j : 'I_d, m j = m' j) -> mlp d L m j = mlp d L m' j.
Proof.
by move=> same; rewrite /mlp; congr (_ + _); apply: eq_bigr => i _; rewrite (eq_hidden _ _ same).
Qed.

Lemma relu_int (f : int) : Num.max 0 f%:~R = (Num.max 0 f)%:~R :> F.
Proof.
by case: (leP 0 f) => f0; [rewrite max_r // ler0z | rewrite max_l // ltW // ltrz0].
Qed.

(** Hardmax: the query attends to the row of the one key whose score is largest. *)
Lemma hardmax_target (mask : bool) (e : F -> F) n d (sc : 'M[F]_n) (stream : 'M[F]_(n, d)) (t s : 'I_n) i :
    sees mask t s -> (forall s' : 'I_n, sees mask t s' -> s' != s -> sc t s' < sc t s) ->
  (pattern Hardmax mask e sc *m stream) t i = stream s i.
Proof.
move=> seen best; pose top (u : 'I_n) : F := (u == s)%:R.
have weighed (u : 'I_n) : (if sees mask t u then
    if [forall s' : 'I_n, sees mask t s' ==> (sc t s' <= sc t u)] then 1 else 0 else 0) = top u.
  rewrite /top; have [->|differ] := eqVneq u s.
    rewrite seen ifT //; apply/forallP=> u'; apply/implyP=> u'_seen.
    by have [->//|differ] := eqVneq u' s; apply/ltW/best.
  case: ifP => // u_seen; case: ifP => // /forallP/(_ s); rewrite seen /= => le.
  by have := best u u_seen differ; rewrite ltNge le.
rewrite mxE (bigD1 s) //= big1 => [|u differ]; rewrite mxE weighed /top ?(negbTE differ) ?mul0r //.
rewrite eqxx addr0 (bigD1 s) //= weighed /top eqxx big1 => [|u differ]; first by rewrite addr0 divr1 mul1r.
by rewrite weighed /top (negbTE differ).
Qed.

(** Uniform attention over two tokens is their mean. *)
Lemma uniform_two (e : F -> F) d (sc : 'M[F]_2) (stream : 'M[F]_(2, d)) (t : 'I_2) i :
  (pattern Uniform false e sc *m stream) t i = (stream ord0 i + stream ord_max i) / 2%:R.
Proof.
rewrite mxE !big_ord_recl big_ord0 /= !mxE !big_ord_recl big_ord0 /= !addr0.
rewrite (_ : 1 + 1 = 2%:R :> F) ?div1r -?mulrDr 1?mulrC //; congr ((_ + stream _ _) * _); exact/val_inj.
Qed.

Section Row.
Variables (e : F -> F) (N R A n : nat) (W : weights) (L : layer).
Let M := over_with e N R A W.
Let d := dimension W.
Variables (stream : 'M[F]_(n, d)) (t : 'I_n).

Definition scores (h : 'I_(n_heads L)) : 'M[F]_n :=
  (stream *m matrix _ (n_query L) (fQ L h)) *m (stream *m matrix _ _ (fK L h))^T.
Definition weigh h := pattern (attends W) (masked W) e (scores h).

(** A row of a block, if the row of its input and what its heads hand on are integers. *)
Lemma block_row (here : nat -> int) (attended : nat -> int) :
    (forall j, stream t j = (here j)%:~R) ->
    (forall j : 'I_d, (\sum_h weigh h *m stream *m matrix _ (n_value L) (fV L h) *m matrix _ _ (fO L h)) t j =
       (attended j)%:~R) ->
  let middle j := (if adds W || (n_heads L == 0)%N then here j else 0) + attended j in
  forall j, apply_block M stream (block_over d L) t j = ((if adds W then middle j else 0) + mlp d L middle j)%:~R.
Proof.
move=> here_t att_t middle j; rewrite /apply_block /=.
set att := \sum_h _; set mid := (if _ then stream + att else att).
have mid_t i : mid t i = (middle i)%:~R.
  by rewrite /mid /middle -/(adds W); case: ifP => _; rewrite ?mxE rmorphD /= ?here_t att_t ?rmorph0 ?add0r.
clearbody mid; have out_t : (relu (mid *m matrix d (n_width L) (fin L) + every_row n (vector _ (fbin L))) *m
    matrix _ _ (fout L) + every_row n (vector _ (fbout L))) t j = (mlp d L middle j)%:~R.
  rewrite !mxE rmorphD rmorph_sum /=; congr (_ + _); apply: eq_bigr => i _; rewrite !mxE rmorphM /=; congr (_ * _).
  rewrite /hidden -relu_int rmorphD rmorph_sum /=; congr (Num.max 0 (_ + _)).
  by apply: eq_bigr => l _; rewrite mid_t !mxE rmorphM.
by rewrite rmorphD /= -out_t; case: (adds W); rewrite ?rmorph0 ?add0r // [LHS]mxE mid_t.
Qed.

(** What a head hands on if its query attends to integer rows. *)
Lemma attended_row (got : nat -> nat -> int) :
    (forall (h : 'I_(n_heads L)) i, (weigh h *m stream) t i = (got h i)%:~R) ->
  forall j : 'I_d, (\sum_h weigh h *m stream *m matrix _ (n_value L) (fV L h) *m matrix _ _ (fO L h)) t j =
    (\sum_(h < n_heads L) \sum_(v < n_value L) (\sum_(i < d) got h i * fV L h i v) * fO L h v j)%:~R.
Proof.
move=> got_t j; rewrite summxE rmorph_sum /=; apply: eq_bigr => h _; rewrite mxE rmorph_sum /=.
apply: eq_bigr => v _; rewrite rmorphM mxE rmorph_sum /= mxE; congr (_ * _).
by apply: eq_bigr => i _; rewrite got_t mxE rmorphM.
Qed.

(** Scores of integer streams. *)
Definition score (q k : nat -> int) (h : nat) : int :=
  \sum_(c < n_query L) (\sum_(i < d) q i * fQ L h i c) * (\sum_(i < d) k i * fK L h i c).

Lemma scoresE (st : nat -> nat -> int) h s : (forall s i, stream s i = (st s i)%:~R) ->
  scores h t s = (score (st t) (st s) h)%:~R.
Proof.
move=> st_s; rewrite mxE rmorph_sum /=; apply: eq_bigr => c _; rewrite rmorphM !mxE !rmorph_sum /=; congr (_ * _).
  by apply: eq_bigr => i _; rewrite st_s !mxE rmorphM.
by apply: eq_bigr => i _; rewrite st_s !mxE rmorphM.
Qed.

End Row.
Arguments weigh e {n} W L stream h.
Arguments scores {n} W L stream h.

(** ** One block, read at the last position *)

Section One.
Variables (e : F -> F) (N R A n : nat) (W : weights) (L : layer).
Let M := over_with e N R A W.
Let d := dimension W.
Hypothesis one : layers W = [:: L].
Variable tokens : n.+1.-tuple 'I_(N + R).

(** The token at a position, and the stream there, in numbers. *)
Definition token_at (t : nat) : nat := nth 0%N (map val tokens) t.
Definition stream_at (t j : nat) : int := start N W (token_at t) t j.

Lemma streamE (t : 'I_n.+1) (j : 'I_d) : embed M tokens t j = (stream_at t j)%:~R.
Proof.
rewrite embed_over mxE /stream_at /token_at (nth_map (tnth tokens t)) ?size_tuple //; congr (start _ _ _ _ _)%:~R.
by rewrite -tnth_nth.
Qed.

(** The logits, if what the heads hand on at the last position is known. *)
Lemma logits_one (attended : nat -> int) :
    (forall j : 'I_d, (\sum_h weigh e W L (embed M tokens) h *m embed M tokens *m matrix _ (n_value L) (fV L h)
       *m matrix _ _ (fO L h)) ord_max j = (attended j)%:~R) ->
  let middle j := (if adds W || (n_heads L == 0)%N then stream_at n j else 0) + attended j in
  let written j := (if adds W then middle j else 0) + mlp d L middle j in
  forall a, logits M tokens 0 a = (\sum_(j < d) written j * unembed W j a + unbias W a)%:~R.
Proof.
move=> att middle written a; rewrite /logits /= one /= !mxE rmorphD rmorph_sum /=; congr (_ + _).
apply: eq_bigr => j _; rewrite rmorphM /= !mxE; congr (_ * _).
by rewrite (@block_row e N R A n.+1 W L _ ord_max (stream_at n) attended) // => i; rewrite (streamE ord_max).
Qed.

(** Hardmax heads that attend to one position each. *)
Lemma logits_hardmax (target : nat -> nat) : attends W = Hardmax ->
    (forall h, (h < n_heads L)%N -> (target h <= n)%N) ->
    (forall h s, (h < n_heads L)%N -> (s <= n)%N -> s != target h ->
       score W L (stream_at n) (stream_at s) h < score W L (stream_at n) (stream_at (target h)) h) ->
  let attended j := \sum_(h < n_heads L) \sum_(v < n_value L)
    (\sum_(i < d) stream_at (target h) i * fV L h i v) * fO L h v j in
  let middle j := (if adds W || (n_heads L == 0)%N then stream_at n j else 0) + attended j in
  let written j := (if adds W then middle j else 0) + mlp d L middle j in
  forall a, logits M tokens 0 a = (\sum_(j < d) written j * unembed W j a + unbias W a)%:~R.
Proof.
move=> hard target_n best attended; apply: logits_one.
apply: (attended_row (got := fun h => stream_at (target h))) => h i.
have s_n : (target h < n.+1)%N by rewrite ltnS target_n.
rewrite /weigh hard (@hardmax_target _ _ _ _ _ _ _ (Ordinal s_n)) ?streamE //.
  by rewrite /sees -ltnS s_n orbT.
move=> s' seen differ; rewrite !(@scoresE _ _ _ _ _ stream_at) //; try exact: streamE.
by rewrite ltr_int; apply: best => //; rewrite -ltnS ltn_ord.
Qed.
End One.

(** ** One block of uniform attention over a prompt of two tokens ([constructions.weights.parts.uniform_block]) *)

Definition uniform_layer (d w : nat) (W_in : nat -> nat -> int) (b_in : nat -> int) (W_out : nat -> nat -> int)
    (b_out : nat -> int) : layer :=
  {| n_heads := 1; n_query := 0; n_value := d; n_width := w;
     fQ := fun _ _ _ => 0; fK := fun _ _ _ => 0;
     fV := fun _ i v => if (i == v)%N then 1 else 0; fO := fun _ v j => if (v == j)%N then 2 else 0;
     fin := W_in; fbin := b_in; fout := W_out; fbout := b_out |}.

Lemma sum_delta (d : nat) (f : nat -> int) (j : nat) (c : int) : (j < d)%N ->
  \sum_(i < d) f i * (if (i == j :> nat)%N then c else 0) = f j * c.
Proof.
move=> j_d; rewrite (bigD1 (Ordinal j_d)) //= eqxx big1 ?addr0 // => i differ.
by rewrite ifN ?mulr0.
Qed.

(** What the MLP reads, and what leaves the block, for the query (x, r). *)
Definition two_middle (W : weights) (x r j : nat) : int :=
  (if adds W then relation W r j + position W 1 j else 0) +
  (subject W x j + position W 0 j + (relation W r j + position W 1 j)).
Definition two_written (W : weights) (L : layer) (x r j : nat) : int :=
  (if adds W then two_middle W x r j else 0) + mlp (dimension W) L (two_middle W x r) j.

Lemma logits_uniform (N R A : nat) (W : weights) W_in b_in W_out b_out w (x : 'I_N) (r : 'I_R) :
    attends W = Uniform -> masked W = false ->
    layers W = [:: uniform_layer (dimension W) w W_in b_in W_out b_out] ->
  forall a, logits (over N R A W) (prompt x [tuple r]) 0 a =
    (\sum_(j < dimension W) two_written W (uniform_layer (dimension W) w W_in b_in W_out b_out) x r j * unembed W j a +
      unbias W a)%:~R.
Proof.
move=> uni open one a; pose L := uniform_layer (dimension W) w W_in b_in W_out b_out.
pose e_x j := subject W x j + position W 0 j; pose e_r j := relation W r j + position W 1 j.
have st0 j : stream_at W (prompt x [tuple r]) 0 j = e_x j by rewrite /stream_at /start /token_at /= ltn_ord.
have st1 j : stream_at W (prompt x [tuple r]) 1 j = e_r j.
  by rewrite /stream_at /start /token_at /= ltnNge leq_addr /= addKn.
rewrite (logits_one one (attended := fun j => e_x j + e_r j)).
  congr (_%:~R); congr (_ + _); apply: eq_bigr => j _; rewrite /two_written /two_middle /= orbF st1.
  by congr ((_ + _) * _); apply: eq_mlp => i; rewrite st1.
move=> j; rewrite big_ord1 /= mxE.
have half i : (weigh (fun=> 0) W L (embed (over N R A W) (prompt x [tuple r])) ord0 *m
    embed (over N R A W) (prompt x [tuple r])) ord_max i = (e_x i + e_r i)%:~R / 2%:R.
  by rewrite /weigh uni open uniform_two !(@streamE (fun=> 0) N R A 1 W) /= st0 st1 -rmorphD.
have scaled m (B : 'M[F]_(m, dimension W)) c t i :
    (B *m matrix _ _ (fun u v => if (u == v)%N then c else 0)) t i = B t i * c%:~R.
  rewrite mxE (bigD1 i) //= big1 => [|l differ]; first by rewrite addr0 mxE eqxx.
  by rewrite mxE -[(l == i :> nat)%N]/(l == i) (negbTE differ) mulr0.
have := scaled _ (weigh (fun=> 0) W L (embed (over N R A W) (prompt x [tuple r])) ord0 *m
  embed (over N R A W) (prompt x [tuple r]) *m matrix _ _ (fun u v => if (u == v)%N then 1 else 0)) 2 ord_max j.
by rewrite mxE scaled half mulr1 mulfVK ?pnatr_eq0.
Qed.

End Over.


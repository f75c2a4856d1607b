(** * T1d. The exact minimum of the dimension: lookup. Mirrors [constructions.weights.t1d.construct].

    For all N >= 2, R >= 1, b >= 1 and any R maps of N entities (permutations or not): d = ⌈R·log2 N / b⌉, the least d
    with N^R <= 2^(d·b), subject entries in 0..2^b - 1, width 2N^(R-1) - 1 + 2(N + .. + N^(R-1)), all N·R queries
    answered with margin at least 1; nothing but the subject table depends on the facts; no universal model of any kind
    has a smaller d. Idea: the answers of x are one index I < N^R, relation r shifts it by r·N^R, and the answer is a
    function of s = r·N^R + I, which the hidden units look up as a sum of kinks. A point is a kink iff it is the first
    or the last of a run: of N points on relation 0, of N^r equal answers on relation r.

    Main theorems: [T1d_lookup], [T1d_lookup_size], [T1d_lookup_minimum], [T1d_lookup_entries], [T1d_lookup_universal]. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra zify.
From Recall Require Import Model Weights Codes Decode Kinks T1c T1d.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The weights; [g r x] is the answer to (x, r) *)

(** The answer as a function of s = r·N^R + I. *)
Definition looked_up (N R s : nat) : int := (s %% N ^ R %/ N ^ (s %/ N ^ R) %% N)%N.

Definition t1d_lookup (N R b : nat) (g : nat -> nat -> nat) : weights :=
  let indices := (N ^ R)%N in
  let points := kinks (looked_up N R) (R * indices) in
  t1d (code_digits indices b) (size points) (fun x => digit b (answers_index R N g x))
    (fun r j => if j is 0 then (r * indices)%N%:Z else 0) (fun j _ => ((2 ^ b) ^ j)%N%:Z)
    (nth 0%N points) (fun u => change (looked_up N R) (nth 0%N points u)).

(** ** The width: two kinks for each run, one of them missing *)

(** Among n·l consecutive points, the first a multiple of l, each run of l has one at place c. *)
Lemma count_runs (P : pred nat) l n m c : (c < l)%N -> (forall q j, (j < l)%N -> P (q * l + j)%N = (j == c)) ->
  count P (iota (m * l) (n * l)) = n.
Proof.
move=> c_l P_c; elim: n m => [|n IH] m; first by rewrite mul0n.
rewrite mulSn iotaD count_cat -mulSnr IH -[(m * l)%N]addn0 iotaDl count_map.
rewrite (@eq_in_count _ _ (pred1 c)) => [|j]; last by rewrite mem_iota /= add0n => j_l; apply: P_c.
by rewrite count_uniq_mem ?iota_uniq // mem_iota /= c_l.
Qed.

Section Runs.
Variables (N R : nat).
Hypotheses (N2 : (1 < N)%N) (R1 : (0 < R)%N).
Let I := (N ^ R)%N.

Let I0 : (0 < I)%N.
Proof. by rewrite expn_gt0 ltnW. Qed.

(** The length of the runs on relation r, and how many there are. *)
Definition run (r : nat) : nat := if r is 0 then N else (N ^ r)%N.
Definition runs (r : nat) : nat := if r is 0 then (N ^ R.-1)%N else (N ^ (R - r))%N.

Lemma run_gt1 r : (1 < run r)%N.
Proof. by case: r => [|r] //=; rewrite (leq_trans N2) // -{1}(expn1 N) leq_exp2l. Qed.

Lemma run_runs r : (r < R)%N -> (runs r * run r = I)%N.
Proof. by rewrite /I; case: r => [|r] r_R /=; rewrite -?expnSr -?expnD; congr (_ ^ _)%N; lia. Qed.

Lemma looked_upE r i : (r < R)%N -> (i < I)%N -> looked_up N R (r * I + i) = (i %/ N ^ r %% N)%N.
Proof. by move=> r_R i_I; rewrite /looked_up -/I divnMDl // (divn_small i_I) addn0 modnMDl (modn_small i_I). Qed.

Lemma looked_up_next r i : (r < R)%N -> (i < I)%N -> (r * I + i.+1 < R * I)%N ->
  looked_up N R (r * I + i.+1) = (i.+1 %/ N ^ r %% N)%N.
Proof.
move=> r_R i_I j_RI; have [i1_I|I_i1] := ltnP i.+1 I; first exact: looked_upE.
have e : i.+1 = I by lia.
rewrite e -mulSnr -[(r.+1 * I)%N]addn0 looked_upE //; last by move: j_RI; rewrite e; nia.
have -> : (I = N ^ r * (N * N ^ (R - r.+1)))%N by rewrite /I -expnS -expnD; congr (_ ^ _)%N; lia.
by rewrite div0n mod0n mulKn ?modnMr // expn_gt0 ltnW.
Qed.

(** The difference at a point: 1 at most steps of the quotient, 1 - N where it wraps. *)
Lemma slopeE r i : (r < R)%N -> (i < I)%N -> (r * I + i.+1 < R * I)%N ->
  looked_up N R (r * I + i).+1 - looked_up N R (r * I + i) =
  if (N ^ r %| i.+1)%N then if (N ^ r.+1 %| i.+1)%N then 1 - N%:Z else 1 else 0.
Proof.
move=> r_R i_I j_RI; rewrite -addnS looked_up_next // looked_upE //.
have Nr0 : (0 < N ^ r)%N by rewrite expn_gt0 ltnW.
rewrite expnSr; case: ifP => [/dvdnP[q e]|/negbT no].
  rewrite e mulnK // (mulnC q) dvdn_pmul2l //; case: q e => [|q] e; first by lia.
  have -> : (i %/ N ^ r = q)%N.
    by rewrite (_ : i = q * N ^ r + (N ^ r).-1)%N ?divnMDl ?divn_small ?addn0; nia.
  have wrap := ltn_pmod q (ltnW N2).
  have -> : (q.+1 %% N = if (q %% N).+1 == N then 0 else (q %% N).+1)%N.
    rewrite -addn1 -modnDml addn1; have [->|differ] := eqVneq (q %% N).+1 N; first by rewrite modnn.
    by rewrite modn_small //; lia.
  have -> : (N %| q.+1)%N = ((q %% N).+1 == N)%N.
    rewrite /dvdn -addn1 -modnDml addn1; have [->|differ] := eqVneq (q %% N).+1 N; first by rewrite modnn.
    by rewrite modn_small //; lia.
  by move: (q %% N)%N wrap => v v_N; have [e_v|_] := eqVneq v.+1 N; lia.
have -> : (i.+1 %/ N ^ r = i %/ N ^ r)%N; last by rewrite subrr.
have := divn_eq i (N ^ r); have := ltn_pmod i Nr0; move: (_ %/ _)%N (i %% _)%N => q m m_lt e.
have [m1_lt|m1] := ltnP m.+1 (N ^ r); first by rewrite e -addnS divnMDl // (divn_small m1_lt) addn0.
by case/negP: no; apply/dvdnP; exists q.+1; lia.
Qed.

(** A point is a kink iff it is the first or the last of a run. *)
Lemma kinkE r i : (r < R)%N -> (i < I)%N -> (r * I + i.+1 < R * I)%N ->
  (change (looked_up N R) (r * I + i) != 0) = (run r %| i)%N || (run r %| i.+1)%N.
Proof.
move=> r_R i_I j_RI; have big := run_gt1 r.
have one l : (1 < l)%N -> (l %| 1)%N = false by case: l => [|[|l]].
move: i_I j_RI; have [->|i0] := posnP i => i_I j_RI.
  rewrite dvdn0 addn0 /change; case: r r_R big j_RI => [|r] r_R big j_RI.
    by have := slopeE r_R I0 j_RI; rewrite !addn0 mul0n dvd1n one // subr0 => ->.
  have := slopeE r_R I0 j_RI; rewrite !addn0 one // => ->.
  have at0 : (r.+1 * I = (r * I + I.-1).+1)%N by rewrite -addnS prednK // mulSnr.
  rewrite at0 slopeE ?prednK //; first last.
  - by rewrite -mulSnr ltn_pmul2r.
  - exact: ltnW.
  by rewrite !dvdn_exp2l ?(ltnW (ltnW r_R)) ?(ltnW r_R) // orTb; apply/eqP; lia.
case: i i0 i_I j_RI => // i _ i_I j_RI.
have j_RI' : (r * I + i.+1 < R * I)%N by rewrite addnS in j_RI; exact: ltnW.
have := slopeE r_R i_I j_RI; have := slopeE r_R (ltnW i_I) j_RI'; rewrite addnS => before here.
rewrite /change here before.
have apart l : (1 < l)%N -> (l %| i.+1)%N -> (l %| i.+2)%N = false.
  by move=> l1 d1; rewrite -addn1 dvdn_addr // one.
have N_1 : (1 - N%:Z == 0) = false by lia.
case: r {r_R j_RI j_RI' here before} big => [|r] big.
  rewrite !dvd1n expn1 /=; have := apart _ N2; case: (N %| i.+1)%N => [/(_ isT)->|_]; first by lia.
  by case: (N %| i.+2)%N; lia.
rewrite /=; have := apart _ big; rewrite /=; case: (N ^ r.+1 %| i.+1)%N => [/(_ isT)->|_].
  by rewrite sub0r oppr_eq0; case: ifP => _; rewrite ?N_1.
by case: (N ^ r.+1 %| i.+2)%N; rewrite subr0 ?eqxx //; case: ifP => _; rewrite ?N_1.
Qed.

(** Two kinks for each run. *)
Lemma count_ends n : (n <= R)%N ->
  count (fun j => (run (j %/ I) %| j %% I) || (run (j %/ I) %| (j %% I).+1))%N (iota 0 (n * I)) =
  (\sum_(r < n) 2 * runs r)%N.
Proof.
elim: n => [|n IH] n_R; first by rewrite mul0n big_ord0.
rewrite mulSnr iotaD count_cat (IH (ltnW n_R)) big_ord_recr add0n; apply/eqP; rewrite eqn_add2l; apply/eqP.
have big := run_gt1 n; have small := ltnW big.
rewrite -[(n * I)%N]addn0 iotaDl count_map.
rewrite (@eq_in_count _ _ (predU (fun i => run n %| i) (fun i => run n %| i.+1))%N) => [|i]; last first.
  by rewrite mem_iota => /= i_I; rewrite divnMDl // modnMDl divn_small // addn0 modn_small.
have := count_predUI (fun i => run n %| i)%N (fun i => run n %| i.+1)%N (iota 0 I).
rewrite [count (predI _ _) _](_ : _ = 0)%N ?addn0; last first.
  apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn=> i _ /=; apply/negP=> /andP[d1].
  by rewrite -addn1 dvdn_addr // dvdn1; lia.
move=> ->; rewrite -(run_runs n_R) mul2n -addnn.
have at0 := @count_runs (fun i => run n %| i)%N (run n) (runs n) 0 0 small.
have at1 := @count_runs (fun i => run n %| i.+1)%N (run n) (runs n) 0 (run n).-1.
rewrite mul0n in at0 at1; rewrite at0 ?at1 // ?prednK //.
- move=> q j j_l; rewrite -addnS dvdn_addr ?dvdn_mull // -(inj_eq succn_inj) prednK //.
  have [->|differ] := eqVneq j.+1 (run n); first exact: dvdnn.
  by apply: gtnNdvd; rewrite // ltn_neqAle differ.
- by move=> q j j_l; rewrite dvdn_addr ?dvdn_mull // /dvdn modn_small.
Qed.

Lemma kinks_number : (size (kinks (looked_up N R) (R * I))).+1 = (\sum_(r < R) 2 * runs r)%N.
Proof.
rewrite -count_ends // size_filter -[in RHS](@prednK (R * I)) ?muln_gt0 ?R1 //.
rewrite -[in RHS]addn1 iotaD count_cat add0n /= addn0 -addn1; congr (_ + _)%N.
  apply: eq_in_count => j; rewrite mem_iota add0n => /= j_RI; have j_lt : (j < R * I)%N by lia.
  by rewrite [in LHS](divn_eq j I) kinkE ?ltn_pmod // ?ltn_divLR // addnS -divn_eq; lia.
have -> : ((R * I).-1 = R.-1 * I + I.-1)%N by move: (I) I0 (R) R1 => I' I'0 R' R'1; nia.
have last : (I.-1 < I)%N by rewrite prednK.
rewrite divnMDl // modnMDl (divn_small last) (modn_small last) addn0 prednK //.
have whole : (run R.-1 %| I)%N by rewrite -(@run_runs R.-1) ?dvdn_mull // prednK.
by rewrite whole orbT.
Qed.

(** 2N^(R-1) - 1 + 2(N + .. + N^(R-1)) *)
Lemma kinks_width : size (kinks (looked_up N R) (R * I)) = (2 * N ^ R.-1 - 1 + 2 * \sum_(1 <= i < R) N ^ i)%N.
Proof.
have N0 : (0 < N ^ R.-1)%N by rewrite expn_gt0 ltnW.
apply: succn_inj; rewrite kinks_number -big_distrr /= -(big_mkord xpredT runs) big_ltn //= mulnDr.
have -> : (\sum_(1 <= i < R) runs i = \sum_(1 <= i < R) N ^ i)%N; last by lia.
rewrite [RHS]big_nat_rev /=; apply: eq_big_nat => -[//|i] /andP[_ i_R].
by rewrite /= add1n subSS.
Qed.
End Runs.

(** ** The theorems *)

Section Theorems.
Variables (F : realFieldType) (N R b : nat).

Definition T1d_lookup_model (g : fact_system N R) := over F N R N (t1d_lookup N R b (table g)).

(** d is the least with N^R <= 2^(d·b). *)
Lemma digits_least n d : (0 < b)%N -> (code_digits n b <= d)%N = (n <= 2 ^ (d * b))%N.
Proof.
move=> b0; transitivity (up_log 2 n <= d * b)%N; last first.
  by apply/idP/idP => [le|]; [rewrite (leq_trans (up_logP n (ltnSn 1))) ?leq_exp2l | exact: up_log_min].
rewrite /code_digits /code_bits.
by have := divn_eq (up_log 2 n + b.-1) b; have := ltn_pmod (up_log 2 n + b.-1) b0; nia.
Qed.

(** All queries are answered with margin at least 1. *)
Theorem T1d_lookup (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= b)%N ->
  answers_all_with_margin (T1d_lookup_model g) 1 1 g.
Proof.
move=> N2 R1 b1; have NR : (1 < N ^ R)%N by rewrite (leq_trans N2) // -{1}(expn1 N) leq_exp2l.
have d0 : (0 < code_digits (N ^ R) b)%N by apply: code_digits_gt0.
apply: t1d_answers => // x r; set index := answers_index R N (table g) x.
have index_lt : (index < N ^ R)%N by apply: answers_index_lt.
pose s := (r * N ^ R + index)%N.
have s_lt : (s < R * N ^ R)%N.
  by rewrite /s -ltn_subRL -mulnBl (leq_trans index_lt) // leq_pmull // subn_gt0.
have sE : \sum_(j < code_digits (N ^ R) b) ((digit b index j)%:Z + (if (j : nat) is 0 then (r * N ^ R)%N%:Z else 0)) *
    ((2 ^ b) ^ j)%N%:Z = s%:Z.
  transitivity (\sum_(j < code_digits (N ^ R) b) ((digit b index j) * (2 ^ b) ^ j)%N%:Z + (r * N ^ R)%N%:Z).
    case: (code_digits _ _) d0 => // d _; rewrite !big_ord_recl /= expn0 muln1 mulr1 -!addrA; congr (_ + _).
    by rewrite addrC; congr (_ + _); apply: eq_bigr => j _; rewrite addr0.
  rewrite -(big_morph Posz PoszD (erefl 0%:Z)) digits_sum ?/s 1?addnC //.
  by rewrite -expnM mulnC (leq_trans index_lt) // -digits_least.
have := kinks_sum (looked_up N R) s_lt; rewrite looked_upE // -/index answers_index_digit //.
have -> : looked_up N R 0 = 0 by rewrite /looked_up mod0n !div0n mod0n.
rewrite subr0 => <-; apply: eq_bigr => u _; congr (Num.max 0 (_ - _) * _).
exact: sE.
Qed.

(** d = ⌈R·log2 N / b⌉, and one block, of width 2N^(R-1) - 1 + 2(N + .. + N^(R-1)). *)
Theorem T1d_lookup_size (g : fact_system N R) : (2 <= N)%N -> (1 <= R)%N -> (1 <= b)%N ->
  (forall d, (dimension (t1d_lookup N R b (table g)) <= d)%N = (N ^ R <= 2 ^ (d * b))%N) /\
  widths (T1d_lookup_model g) = [:: (2 * N ^ R.-1 - 1 + 2 * \sum_(1 <= i < R) N ^ i)%N].
Proof. by move=> N2 R1 b1; split=> [d|]; [exact: digits_least | rewrite -kinks_width]. Qed.

(** No universal model has a smaller dimension: transformers of any depth, width, attention and mask. *)
Theorem T1d_lookup_minimum (g0 : fact_system N R) d (value : 'I_d -> 'I_(2 ^ b) -> F) (frame : transformer F N R N d) :
    (2 <= N)%N -> (1 <= b)%N ->
    (forall g : bijections N R, exists rows : 'I_N -> row_bits d b,
       answers_all (with_subjects frame (subjects value rows)) 1 g) ->
  (dimension (t1d_lookup N R b (table g0)) <= d)%N.
Proof. by move=> N2 b1 answers; rewrite digits_least //; apply: T1c_universal answers; exact: ltnW. Qed.

(** Subject entries are the integers 0 .. 2^b - 1: b bits each. *)
Theorem T1d_lookup_entries (g : fact_system N R) x j :
  exists v : 'I_(2 ^ b), W_E (T1d_lookup_model g) (lshift R x) j = (v : nat)%:R.
Proof. by exists (Ordinal (digit_lt b (answers_index R N (table g) x) j)); rewrite col_mxEu mxE. Qed.

(** Nothing but the subject table depends on the facts. *)
Theorem T1d_lookup_universal : universal T1d_lookup_model.
Proof. by move=> g g'; eexists; rewrite /with_subjects /T1d_lookup_model /over /over_with /= col_mxKd. Qed.
End Theorems.

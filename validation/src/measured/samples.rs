//! Short excerpts of logs in the layouts of their launchers, for tests. Host names are replaced.

/// nccl-tests before 2.12 on one host: column `error`, N/A without validation, rows of no byte, messages between rows.
pub const OLD_ERROR_COLUMN: &str = "\
# nThread 1 nGpus 8 minBytes 1 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 validation: 0
#
# Using devices
#   Rank  0 Pid 112424 on localhost device  0 [0x00] A100-SXM4-40GB
#   Rank  7 Pid 112424 on localhost device  7 [0x00] A100-SXM4-40GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
hostname:3442:3442 [0] NCCL INFO Launch mode Parallel
           0             0   float     sum    35.20    0.00    0.00    N/A    34.05    0.00    0.00    N/A
     8388608       2097152   float     sum    162.0   51.79   90.63    N/A    160.0   52.44   91.77    N/A
    67108864      16777216   float     sum    584.5  114.81  200.91    N/A    581.9  115.33  201.82    N/A
  8589934592    2147483648   float     sum    63896  134.44  235.26    N/A    63959  134.30  235.03    N/A
";

/// The same version's AllGather: no reduction in its column.
pub const OLD_ALL_GATHER: &str = "\
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
          32             1   float            89.00    0.00    0.00    N/A    85.13    0.00    0.00    N/A
    67108864       2097152   float            396.8  169.13  147.99    N/A    387.0  173.41  151.73    N/A
  8589934592     268435456   float            33508  256.36  224.31    N/A    33234  258.47  226.16    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 125.365
";

/// srun with labels, and nothing but the table: ranks only from the figures.
pub const SRUN_LABELS: &str = "\
0: #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
0: #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
0:            8             2     float     sum      -1    69.12    0.00    0.00      0    72.43    0.00    0.00      0
0:     33554432       8388608     float     sum      -1    439.7   76.31  143.09      0    417.7   80.33  150.62      0
0:     67108864      16777216     float     sum      -1    601.5  111.57  209.19      0    604.2  111.07  208.26      0
0:  17179869184    4294967296     float     sum      -1    66132  259.78  487.09      0    66109  259.87  487.26      0
";

/// mpirun with tags; pods whose processes have equal numbers; old column with values.
pub const MPIRUN_TAGS: &str = "\
[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 8 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 100 validation: 1 
[1,0]<stdout>:#   Rank  0 Pid     25 on worker-0 device  0 [0x10] A100-SXM4-40GB
[1,0]<stdout>:#   Rank  1 Pid     26 on worker-0 device  1 [0x10] A100-SXM4-40GB
[1,0]<stdout>:#   Rank  2 Pid     25 on worker-1 device  0 [0x10] A100-SXM4-40GB
[1,0]<stdout>:#   Rank  3 Pid     26 on worker-1 device  1 [0x10] A100-SXM4-40GB
[1,0]<stdout>:NCCL version 2.9.9+cuda11.2
[1,4]<stdout>:worker-0:29:29 [4] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
[1,0]<stdout>:#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
[1,6]<stdout>:worker-0:34:89 [0] NCCL INFO NET/OFI Setting OFI_NCCL_GDR_FLUSH_DISABLE environment variable to 1
[1,0]<stdout>:           8             2   float     sum    179.1    0.00    0.00  2e-07    176.3    0.00    0.00  1e-07
[1,0]<stdout>:   134217728      33554432   float     sum   8731.1   15.37   23.06  5e-07   8457.4   15.87   23.80  5e-07
[1,0]<stdout>:# Out of bounds values : 0 OK
[1,0]<stdout>:# Avg bus bandwidth    : 11.715 
";

/// A time stamp before each line (nccl issue 1368): one row whose figures allow several numbers of ranks.
pub const TIME_STAMPS: &str = "\
Thu Jul 18 15:41:05 2024<stdout>:#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
Thu Jul 18 15:41:05 2024<stdout>:     1048576        262144     float     sum      -1    354.9    2.95    5.76      0    345.7    3.03    5.91      0
";

/// rccl-tests, with its own lines of versions (two of its sixteen rank lines).
pub const RCCL: &str = "\
[1776961424.994705] [node-1:3322 :0]          parser.c:2033 UCX  WARN  unused environment variable: UCX_PREFIX
# rccl-tests version 2.17.9-develop:4a65e8d rccl-headers=22707 rccl-library=22707
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8388608 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  7 Group  0 Pid   3307 on     node-0 device  7 [0000:76:00] AMD Radeon Graphics
#  Rank 15 Group  0 Pid   3315 on     node-1 device  7 [0000:76:00] AMD Radeon Graphics
RCCL version : 2.27.7-HEAD:96a25b5
Hostname     : node-0
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
     8388608       2097152     float     sum      -1   110.24   76.09  142.68       0   109.71   76.46  143.37       0
    16777216       4194304     float     sum      -1   177.14   94.71  177.58       0   176.17   95.23  178.56       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 160.548
#
# Collective test concluded: all_reduce_perf
";

/// SendRecv of nccl-tests inside NCCL's messages: not checked in place (CCI-MOC/roce-testing).
pub const SEND_RECV: &str = "\
# nThread 1 nGpus 4 minBytes 1073741824 maxBytes 5368709120 step: 2147483648(bytes) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
host-a:574629:574629 [0] NCCL INFO NCCL version 2.26.2+cuda.
host-a:574629:574653 [2] NCCL INFO comm 0x61f87a0 rank 2 nRanks 8 nNodes 2 localRanks 4 localRank 2 MNNVL 0
host-a:574629:574651 [0] NCCL INFO NCCL_ALGO set by environment to RING
    Broadcast |        1         2         1   |             0              1              0              0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
host-a:574629:574657 [2] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
  1073741824     268435456     float     sum      -1   191953    5.59    5.59      0   190953    5.62    5.62    N/A
  3221225472     805306368     float     sum      -1   557878    5.77    5.77      0   557761    5.78    5.78    N/A
  5368709120    1342177280     float     sum      -1   926234    5.80    5.80      0   948827    5.66    5.66    N/A
host-a:574629:574686 [0] NCCL INFO comm 0x60f3a40 rank 0 nranks 8 cudaDev 0 busId 6000 - Destroy COMPLETE
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 5.70333
";

/// A table cut out of a run that failed, its header lost.
pub const NO_HEADER_FAILED: &str = "\
     4194304       1048576     float     sum      -1   787.11    5.33    5.33       0   404.71   10.36   10.36       0
    67108864      16777216     float     sum      -1  3003.09   22.35   22.35       0  3017.06   22.24   22.24       0
# Out of bounds values : 4 FAILED
# Avg bus bandwidth    : 4.79995 
#
# Collective test concluded: all_reduce_perf

 .. gpu-a pid 662195: Test failure common.cu:1189
";

/// In-network reduction gone wrong: every result is.
pub const WRONG_RESULTS: &str = "\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
Connect QP
     1048576        262144     float     sum      -1    192.5    5.45    5.45  524288    233.4    4.49    4.49  524288
     2097152        524288     float     sum      -1    311.5    6.73    6.73  1.04858e+06    311.3    6.74    6.74  1.04858e+06
# Out of bounds values : 108 FAILED
# Avg bus bandwidth    : 5.85250
";

/// A page that leaves out the middle; its first row holds the warm-up.
pub const MIDDLE_LEFT_OUT: &str = "\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    983.2    0.00    0.00      0    166.1    0.00    0.00      0
          16             4     float     sum      -1    167.3    0.00    0.00      0    171.2    0.00    0.00      0
        ...
  17179869184    4294967296     float     sum      -1    92173  186.39  369.86      0    92284  186.16  369.42      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 84.0569 
";

/// What a message does to a row that is being printed; and a row that never ends.
pub const BROKEN_ROWS: &str = "\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1node-0:25:86 [0] NCCL INFO Connected all rings
    123.2    8.51   15.95      0    121.3    8.64   16.21      0
     2097152        524288     float     sum      -1    147.2   14.24   26.70      0    147.1   14.2
     4194304       1048576     float     sum      -1    168.6   24.8
";

/// The report of `-J`, file version 3, with keys that are not used.
pub const JSON_V3: &str = r#"{
"version": 3, "start_time": "2026-01-02 03:04:05",
"args": ["/opt/nccl-tests/build/all_reduce_perf", "-b", "8M", "-e", "16M", "-f", "2", "-J", "out.json"],
"env": ["HOME=/root", "NCCL_ALGO=Ring", "NCCL_IB_HCA=mlx5_0,mlx5_1"],
"nccl_version": 22807,
"config": {"nthreads": 1, "ngpus": 1, "minimum_bytes": 8388608, "maximum_bytes": 16777216, "step_factor": 2,
  "warmup_iters": 1, "iterations": 20, "aggregated_iterations": 1, "validation": 1, "graph": 0,
  "blocking_collectives": false, "per_iter_timing": false, "parallel_init": false,
  "devices": [
    {"rank": 0, "group": 0, "pid": 11, "hostname": "node-a", "device": 0, "device_hex": "0000:06:00", "device_info": "NVIDIA H100 80GB HBM3"},
    {"rank": 1, "group": 0, "pid": 12, "hostname": "node-b", "device": 0, "device_hex": "0000:06:00", "device_info": "NVIDIA H100 80GB HBM3"}]},
"results": [
  {"size": 8388608, "count": 2097152, "type": "float", "redop": "sum", "root": "    -1",
   "out_of_place": {"time": 1187.900000, "alg_bw": 7.061712, "bus_bw": 7.061712, "nwrong": 0.000000},
   "in_place": {"time": 1186.000000, "alg_bw": 7.073025, "bus_bw": 7.073025, "nwrong": null},
   "actual_iterations": 20, "experiment_name": ""},
  {"size": 16777216, "count": 4194304, "type": "float", "redop": "sum", "root": "    -1",
   "out_of_place": null,
   "in_place": {"cpu_time": 2317.300000, "alg_bw": "nan", "bus_bw": 7.239984, "nwrong": 0.000000},
   "actual_iterations": 20, "experiment_name": ""}],
"out_of_bounds": {"count": 0, "okay": true},
"average_bus_bandwidth": {"bandwidth": 7.124907, "okay": "unchecked"},
"errors": ["no error"], "end_time": "2026-01-02 03:04:06"}
"#;

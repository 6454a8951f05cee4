#!/bin/sh
# Nodes of a run as a Slurm job: sbatch --nodes=8 docs/cluster/slurm.sh
#
# Before, on the machine of the database, with a folder that all machines see:
#   dsbench cluster invite --nodes 8 --address dbserver --out /shared/run1
#   dsbench run postgresql://bench@dbserver/bench --nodes 8 --cluster /shared/run1
#
#SBATCH --job-name=dsbench
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=04:00:00
set -eu
BUNDLES=${BUNDLES:-/shared/run1}
export BUNDLES
# SLURM_PROCID counts tasks from 0, bundles from 1.
srun --kill-on-bad-exit=0 sh -c 'exec dsbench cluster node --join "$BUNDLES/node-$((SLURM_PROCID + 1)).bundle"'

/**
 * `npm run test:cluster`: the Helm chart in a real cluster of one node, which is made on this machine
 * (test/cluster/node.ts): installs the chart with values-trial.yaml, does what a user and an operator do, and removes
 * pods and replaces releases while tasks are in progress. Exits with 0 if everything held, 1 if something did not, and
 * 2 if it cannot be run here.
 *
 * Option: `--keep` leaves the cluster running until Ctrl-C.
 */
import { once } from 'node:events';
import { report, runCampaign, toUndo } from '../containers/campaign.ts';
import { obtainEngine } from '../containers/engine.ts';
import { CannotRunError, say, seconds } from '../containers/run.ts';
import { obtainHelm, whyNoHelm } from '../wide/helm-programs.ts';
import { CLUSTER_CHECKS } from './checks.ts';
import { Cluster, imageOfChart } from './cluster.ts';
import { importImages, makeClusterImages } from './images.ts';
import { startNode, whatNodeMisses } from './node.ts';
import { obtainKubernetes, whyNoKubernetes } from './programs.ts';

const HELM_VERSION = '4.3.1';

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((argument) => argument !== '--keep');
  if (unknown.length > 0) throw new CannotRunError(`Unknown: ${unknown.join(', ')}. The only option is --keep.`);
  const problems = [...(await whatNodeMisses()), whyNoKubernetes(), whyNoHelm()].filter((text) => text !== false);
  if (problems.length > 0) throw new CannotRunError(`No cluster can run here: ${problems.join('; ')}.`);
  const begun = Date.now();
  const programs = { kubernetes: await obtainKubernetes(), helm: await obtainHelm(HELM_VERSION) };

  const engine = await obtainEngine();
  toUndo.push(() => engine.stop());
  const images = await makeClusterImages(engine, programs.kubernetes, [await imageOfChart()]);
  const nodeBegun = Date.now();
  say('Starting a node …');
  const node = await startNode(programs.kubernetes);
  toUndo.push(() => node.stop());
  say(`The node was ready after ${seconds(Date.now() - nodeBegun)}.`);
  await importImages(engine, node, images);

  const cluster = new Cluster(node, programs);
  const failed = await runChecks(cluster);
  say(`${failed} violations, altogether ${seconds(Date.now() - begun)}.`);
  if (failed > 0) process.stderr.write(`${await node.logs()}\n`);
  if (args.includes('--keep')) {
    say(`The cluster stays until Ctrl-C: export KUBECONFIG=${node.files.kubeconfig}`);
    await once(process, 'SIGINT');
  }
  return failed === 0 ? 0 : 1;
}

async function runChecks(cluster: Cluster): Promise<number> {
  const describe = async (): Promise<void> => {
    process.stderr.write(`${await cluster.describe()}\n`);
  };
  const prepared = await report(
    'PostgreSQL, Temporal and an S3 server run in the cluster',
    async () => {
      await cluster.prepare();
      return undefined;
    },
    describe,
  );
  const installed = await report(
    '`helm install --wait` migrates and starts api and worker',
    async () => {
      await cluster.install();
      return undefined;
    },
    describe,
  );
  if (prepared + installed > 0) return prepared + installed;
  const client = await cluster.connect();
  toUndo.push(() => client.close());
  let failed = 0;
  for (const { name, check } of CLUSTER_CHECKS)
    failed += await report(name, () => check({ cluster, client }), describe);
  return failed;
}

await runCampaign(main);

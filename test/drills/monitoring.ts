/**
 * Prometheus and Alertmanager as an operator runs them: the shipped configuration and rules, of which nothing is
 * changed but the addresses, and a receiver of notifications.
 */
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { parse, stringify } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { obtainGoPrograms, whyNoGoPrograms } from '../deploy/go-programs.ts';
import type { GoPrograms } from '../deploy/go-programs.ts';
import { obtainDebianProgram, whyNoDebianProgram } from '../support/debian-programs.ts';
import type { DebianProgram } from '../support/debian-programs.ts';
import { reservePort } from '../support/reserve-port.ts';
import { answers, startServerProcess } from '../wide/server-process.ts';
import type { ServerProcess } from '../wide/server-process.ts';

const PROMETHEUS: DebianProgram = { name: 'prometheus', packages: ['prometheus'], file: 'usr/bin/prometheus' };
/** That of Debian reads a template of the system, which is there only if the package is installed. */
const ALERTMANAGER: GoPrograms = {
  directory: 'alertmanager-0.28.1',
  version: 'v0.28.1',
  packages: { alertmanager: 'github.com/prometheus/alertmanager/cmd/alertmanager' },
};

/** For the `skip` of a test; false if both can be had. */
export function whyNoMonitoring(): string | false {
  return whyNoDebianProgram(PROMETHEUS) || whyNoGoPrograms(ALERTMANAGER);
}

/** Of a rule of deploy/docker/prometheus/alerts.yml. */
export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}

/** @returns the shipped rules. */
export async function readRules(): Promise<readonly Rule[]> {
  const file = await readFile(packageFile('deploy/docker/prometheus/alerts.yml'), 'utf8');
  return (parse(file) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
}

/** What the receiver was notified of. */
export interface Notification {
  /** Unix milliseconds of its arrival. */
  readonly at: number;
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>> & { readonly alertname: string };
  readonly annotations: Readonly<Record<string, string>>;
}

/** An alert as Prometheus evaluated it last. */
export interface EvaluatedAlert {
  readonly state: 'pending' | 'firing';
  readonly labels: { readonly alertname: string };
}

export interface Monitoring {
  /** Everything so far, in order. */
  readonly notifications: readonly Notification[];
  /** What Prometheus holds at this moment. */
  evaluated(): Promise<readonly EvaluatedAlert[]>;
  stop(): Promise<void>;
}

/** @param targets of the metrics, by job. @param darkroomUrl where the links of alerts lead. */
export async function startMonitoring(
  targets: Readonly<Record<'darkroom-api' | 'darkroom-worker', readonly string[]>>,
  darkroomUrl: string,
): Promise<Monitoring> {
  const prometheus = await obtainDebianProgram(PROMETHEUS);
  const alertmanager = path.join(await obtainGoPrograms(ALERTMANAGER), 'alertmanager');
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-monitoring-'));
  const notifications: Notification[] = [];
  const receiver = createServer((request, response) => {
    void json(request).then((body) => {
      const { alerts } = body as { alerts: Omit<Notification, 'at'>[] };
      for (const alert of alerts) notifications.push({ ...alert, at: Date.now() });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const [prometheusPort, alertmanagerPort] = [await reservePort(), await reservePort()];
  await writeFiles(directory, targets, {
    darkroomUrl,
    alertmanager: `127.0.0.1:${alertmanagerPort}`,
    receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
  });

  const running: ServerProcess[] = [];
  const start = async (name: string, command: string, port: number, args: readonly string[]): Promise<void> => {
    const url = `http://127.0.0.1:${port}`;
    const env = { PATH: process.env['PATH'], HOME: directory };
    const all = [...args, `--web.listen-address=127.0.0.1:${port}`];
    running.push(await startServerProcess({ name, command, args: all, env, isReady: () => answers(`${url}/-/ready`) }));
  };
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
    receiver.close();
    receiver.closeAllConnections();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await start('Alertmanager', alertmanager, alertmanagerPort, [
      `--config.file=${path.join(directory, 'alertmanager.yml')}`,
      `--storage.path=${path.join(directory, 'alertmanager')}`,
      '--cluster.listen-address=',
    ]);
    await start('Prometheus', prometheus, prometheusPort, [
      `--config.file=${path.join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(directory, 'prometheus')}`,
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    notifications,
    async evaluated() {
      const response = await fetch(`http://127.0.0.1:${prometheusPort}/api/v1/alerts`);
      return ((await response.json()) as { data: { alerts: EvaluatedAlert[] } }).data.alerts;
    },
    stop,
  };
}

async function writeFiles(
  directory: string,
  targets: Readonly<Record<string, readonly string[]>>,
  urls: { readonly darkroomUrl: string; readonly alertmanager: string; readonly receiver: string },
): Promise<void> {
  const shipped = parse(await readFile(packageFile('deploy/docker/prometheus/prometheus.yml'), 'utf8')) as {
    global: { external_labels: Record<string, string> };
    scrape_configs: { job_name: string; static_configs: unknown }[];
  } & Record<string, unknown>;
  shipped.global.external_labels['darkroom_url'] = urls.darkroomUrl;
  shipped['alerting'] = { alertmanagers: [{ static_configs: [{ targets: [urls.alertmanager] }] }] };
  for (const job of shipped.scrape_configs) job.static_configs = [{ targets: targets[job.job_name] ?? [] }];
  await writeFile(path.join(directory, 'prometheus.yml'), stringify(shipped));
  await copyFile(packageFile('deploy/docker/prometheus/alerts.yml'), path.join(directory, 'alerts.yml'));
  const alertmanager = {
    // Each alert by itself, and at once.
    route: { receiver: 'drills', group_by: ['...'], group_wait: '0s', group_interval: '1s', repeat_interval: '4h' },
    receivers: [{ name: 'drills', webhook_configs: [{ url: urls.receiver, send_resolved: true }] }],
  };
  await writeFile(path.join(directory, 'alertmanager.yml'), stringify(alertmanager));
}

/**
 * What the objects of the Helm chart say, compared with the program that they run: its settings, how it stops, what it
 * connects to. Their metrics: helm-metrics.test.ts. That they are valid: helm.test.ts.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig, loadDirectDatabaseConfig, loadTemporalConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { unknownVariables } from '../../src/config/likely-mistakes.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Variable } from '../../src/config/variables.ts';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';
import { parseAllowList, parseDenyList } from '../../src/egress/operator-lists.ts';
import { mayConnect, targetOf } from '../../src/egress/policy.ts';
import { hostInUrl } from '../../src/config/listeners.ts';
import { environmentOf, findObject, ofKind, podsOf, readValues, render, withValue } from './helm-chart.ts';
import type { KubernetesObject, PodSpec, Values } from './helm-chart.ts';
import { builtProgram } from '../support/built-program.ts';
import { addressesAround, letsOut } from './helm-egress.ts';
import { runToEnd, startAnswering } from './helm-ready.ts';
import { obtainHelm, whyNoHelm } from './helm-programs.ts';

/** A worker may take so much longer than its grace time (src/processes/worker.ts), and an api (src/processes/runners.ts). */
const FORCE_SECONDS = 5;

describe('the objects of the Helm chart', { skip: whyNoHelm(), timeout: 3_600_000 }, () => {
  let helm: string;
  let directory: string;
  let minimal: Values;
  let everything: Values;
  const rendered = new Map<string, readonly KubernetesObject[]>();
  before(async () => {
    helm = await obtainHelm('4.3.1');
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-helm-'));
    minimal = await readValues('ci/minimal-values.yaml');
    everything = await readValues('ci/everything-values.yaml');
    for (const [name, values] of [
      ['minimal', minimal],
      ['trial', await readValues('values-trial.yaml')],
      ['everything', everything],
    ] as const) {
      rendered.set(name, await render(helm, values));
    }
    for (const name of ['ca.crt', 'tls.crt', 'tls.key']) await writeFile(path.join(directory, name), 'PEM');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const objectsOf = (name: string): readonly KubernetesObject[] => rendered.get(name) ?? [];

  /** The environment of a pod, with its files in a directory that exists here. */
  const environmentFor = (pod: Pick<PodSpec, 'containers'>): NodeJS.ProcessEnv => {
    const environment = environmentOf(pod, (name) => {
      if (name === 'DATABASE_URL' || name === 'DATABASE_DIRECT_URL')
        return 'postgres://darkroom:kX3vQ9@db.example.com:5432/darkroom';
      const secret = createHash('sha256').update(name).digest('hex');
      return name === 'OTEL_EXPORTER_OTLP_HEADERS' ? `authorization=${secret}` : secret;
    });
    for (const [name, value] of Object.entries(environment)) {
      if (name.startsWith('TEMPORAL_TLS_') && name.endsWith('_FILE')) {
        environment[name] = path.join(directory, path.basename(value ?? ''));
      }
    }
    return environment;
  };

  /** The configuration of a Deployment's process. @throws {ConfigurationError} it would not start. */
  const configOf = (pod: PodSpec): Config => loadConfig({ NODE_ENV: 'production', ...environmentFor(pod) });

  const deployments = (objects: readonly KubernetesObject[]) =>
    ofKind(objects, 'Deployment').map(({ metadata, spec }) => ({ name: metadata.name, pod: spec.template.spec }));

  for (const name of ['minimal', 'trial', 'everything']) {
    describe(`with the ${name} values`, () => {
      it('have an environment that the program accepts, with no variable that it does not know', () => {
        const pods = podsOf(objectsOf(name));
        assert.ok(pods.size >= 4);
        for (const [object, pod] of pods) {
          if (object.endsWith('-test')) continue;
          const environment = environmentFor(pod);
          const names = Object.keys(environment).filter((each) => each !== 'NODE_EXTRA_CA_CERTS');
          assert.deepEqual(
            names.filter((each) => !Object.hasOwn(VARIABLES, each) && !/^UPSTREAM_[A-Z]+_(?:KEY|URL)$/.test(each)),
            [],
            object,
          );
          assert.equal(new Set(pod.containers[0].env.map((each) => each.name)).size, pod.containers[0].env.length);
          assert.deepEqual(unknownVariables(environment), [], object);
          if (object.endsWith('-migrate')) {
            assert.ok(loadDirectDatabaseConfig(environment).url.startsWith('postgres://'));
            assert.notEqual(loadTemporalConfig(environment).address, '');
          } else {
            assert.equal(configOf(pod).metrics?.port, 9464, object);
          }
        }
      });

      it('contain no secret, and refer to each by its name', () => {
        assert.deepEqual(ofKind(objectsOf(name), 'Secret'), []);
        for (const [object, pod] of podsOf(objectsOf(name))) {
          const containers = [...pod.containers, ...(pod.initContainers ?? [])];
          for (const { name: variable, value, valueFrom } of containers.flatMap(({ env }) => env)) {
            const known = (VARIABLES as Readonly<Record<string, Variable>>)[variable];
            const isSecret = known?.kind === 'secret' || /^UPSTREAM_.*_KEY$/.test(variable);
            assert.equal(valueFrom !== undefined, isSecret, `${variable} of ${object}`);
            assert.equal(value === undefined, isSecret, `${variable} of ${object}`);
            if (isSecret) assert.notEqual(valueFrom?.secretKeyRef.name, '');
          }
        }
      });

      it('serve every queue, with workers of these queues alone', () => {
        const workers = deployments(objectsOf(name)).filter(({ name: worker }) => worker.includes('-worker-'));
        const configs = workers.map(({ pod }) => configOf(pod).worker);

        for (const release of new Set(configs.map(({ buildId }) => buildId))) {
          const served = configs.flatMap(({ buildId, queues }) => (buildId === release ? queues : []));
          assert.deepEqual(served.toSorted(), Object.keys(TASK_QUEUES).toSorted(), release);
        }
      });

      it('are confined: no root, no rights, no token, a root file system that cannot be written', () => {
        for (const [object, pod] of podsOf(objectsOf(name))) {
          const [container] = pod.containers;
          assert.equal(pod.automountServiceAccountToken, false, object);
          assert.equal(pod.enableServiceLinks, false, object);
          assert.equal(pod.securityContext['runAsNonRoot'], true, object);
          assert.equal(pod.securityContext['runAsUser'], 1000, object);
          assert.deepEqual(pod.securityContext['seccompProfile'], { type: 'RuntimeDefault' }, object);
          assert.deepEqual(
            container.securityContext,
            { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
            object,
          );
          assert.match(container.resources.limits?.['memory'] ?? '', /^\d+[MG]i$/, object);
          const volumes = new Set(pod.volumes?.map((volume) => volume.name));
          for (const mount of container.volumeMounts ?? [])
            assert.ok(volumes.has(mount.name), `${object}: ${mount.name}`);
        }
        for (const account of ofKind(objectsOf(name), 'ServiceAccount')) {
          assert.equal(Object.entries(account).find(([key]) => key === 'automountServiceAccountToken')?.[1], false);
        }
      });

      it('select each other: services, budgets, autoscalers and policies find their pods', () => {
        const objects = objectsOf(name);
        const pods = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
        const labelled = (wanted: Readonly<Record<string, string>>) =>
          pods.filter(({ spec }) =>
            Object.entries(wanted).every(([key, value]) => spec.template.metadata.labels[key] === value),
          );
        for (const { metadata, spec } of ofKind(objects, 'Deployment')) {
          assert.deepEqual(
            labelled(spec.selector.matchLabels).map((each) => each.metadata.name),
            [metadata.name],
          );
        }
        for (const { metadata, spec } of ofKind(objects, 'Service')) {
          const found = labelled(spec.selector);
          assert.ok(found.length > 0, metadata.name);
          for (const pod of found) {
            const ports = pod.spec.template.spec.containers[0].ports?.map((port) => port.name);
            for (const { targetPort } of spec.ports) assert.ok(ports?.includes(targetPort), metadata.name);
          }
        }
        for (const { metadata, spec } of ofKind(objects, 'PodDisruptionBudget')) {
          assert.deepEqual(
            labelled(spec.selector.matchLabels).map((each) => each.metadata.name),
            [metadata.name],
          );
        }
        for (const { spec } of ofKind(objects, 'HorizontalPodAutoscaler')) {
          const target = findObject(objects, 'Deployment', spec.scaleTargetRef.name);
          assert.equal(target.spec.replicas, undefined, 'the next upgrade would undo its scaling');
        }
        const confined = ofKind(objects, 'NetworkPolicy').flatMap(({ spec }) => labelled(spec.podSelector.matchLabels));
        assert.deepEqual(
          confined.map((each) => each.metadata.name).toSorted(),
          pods.map((each) => each.metadata.name).toSorted(),
        );
        const metrics = ofKind(objects, 'Service').filter((each) => each.metadata.name.endsWith('-metrics'));
        for (const { metadata, spec } of ofKind(objects, 'ServiceMonitor')) {
          const [service, ...others] = metrics.filter((each) =>
            Object.entries(spec.selector.matchLabels).every(([key, value]) => each.metadata.labels[key] === value),
          );
          assert.equal(service?.metadata.name, `${metadata.name}-metrics`);
          assert.deepEqual(others, []);
          assert.equal(spec.endpoints[0]?.port, service?.spec.ports[0]?.name);
        }
      });
    });
  }

  it('have names and labels that fit, however long those of the values are', async () => {
    const workers = [{ name: 'w'.repeat(15), queues: Object.keys(TASK_QUEUES) }];
    const tag = `${'1.'.repeat(63)}x`;
    for (const name of ['fullnameOverride', 'nameOverride']) {
      const values = withValue(withValue({ ...everything, workers }, name, 'n'.repeat(40)), 'image', {
        repository: 'darkroom',
        tag,
      });
      for (const { kind, metadata, spec } of await render(helm, values)) {
        assert.match(metadata.name, /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/, kind);
        const ofPods = kind === 'Deployment' ? spec.template.metadata.labels : {};
        for (const [label, value] of Object.entries({ ...metadata.labels, ...ofPods })) {
          assert.match(value, /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, `${label} of ${metadata.name}`);
        }
      }
    }
  });

  it('keep the workers of an earlier release as they are when the next one is installed beside them', async () => {
    const versions = (tag: string, previous: readonly object[] = []) =>
      render(helm, { ...withValue(minimal, 'image.tag', tag), workerVersioning: { enabled: true, previous } });
    const workersOf = (objects: readonly KubernetesObject[], tag: string) =>
      ofKind(objects, 'Deployment').filter(
        ({ metadata, spec }) =>
          metadata.name.includes('-worker-') && spec.template.spec.containers[0].image.endsWith(`:${tag}`),
      );
    const before = workersOf(await versions('1.0.0'), '1.0.0');
    const beside = await versions('1.1.0', [{ tag: '1.0.0' }]);
    const back = await versions('1.0.0', [{ tag: '1.1.0' }]);

    assert.equal(before.length, 5);
    for (const [tag, others] of [
      ['1.0.0', [before, workersOf(beside, '1.0.0'), workersOf(back, '1.0.0')]],
      ['1.1.0', [workersOf(beside, '1.1.0'), workersOf(back, '1.1.0')]],
    ] as const) {
      for (const { spec } of others.flat()) {
        assert.equal(environmentFor(spec.template.spec)['WORKER_BUILD_ID'], tag);
        assert.equal(configOf(spec.template.spec).worker.buildId, tag);
      }
      for (const other of others) {
        const pods = (deployments: readonly KubernetesObject[]) =>
          deployments.map(({ metadata, spec }) => ({ name: metadata.name, pods: spec.template, of: spec.selector }));
        assert.deepEqual(pods(other), pods(others[0] ?? []));
      }
    }
  });

  it('name a build after its image, in a form that the program and Temporal accept', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const cases: readonly (readonly [object, string | RegExp])[] = [
      [{ tag: '1.0.0' }, '1.0.0'],
      [{ tag: '1.0.0', digest }, `sha256-${'ab'.repeat(8)}`],
      [{ tag: '_nightly' }, /^tag-_nightly-[0-9a-f]{16}$/],
      [{ tag: 'x'.repeat(128) }, /^tag-x{32}-[0-9a-f]{16}$/],
      [{}, /^\d+\.\d+\.\d+/],
    ];
    for (const [image, wanted] of cases) {
      const named = { repository: 'registry.example.com/darkroom', ...image };
      const objects = await render(helm, { ...minimal, image: named, workerVersioning: { enabled: true } });
      const worker = deployments(objects).find(({ name }) => name.includes('-worker-'));
      assert.ok(worker !== undefined);
      const { buildId = '' } = configOf(worker.pod).worker;
      if (typeof wanted === 'string') assert.equal(buildId, wanted);
      else assert.match(buildId, wanted);
    }
  });

  it('wait for a process as long as it takes to stop', async () => {
    const periods = [
      { DRAIN_SECONDS: 0, SHUTDOWN_GRACE_SECONDS: 1, UPSTREAM_GRACE_SECONDS: 0 },
      { DRAIN_SECONDS: 10, SHUTDOWN_GRACE_SECONDS: 8, UPSTREAM_GRACE_SECONDS: 900 },
      { DRAIN_SECONDS: 600, SHUTDOWN_GRACE_SECONDS: 600, UPSTREAM_GRACE_SECONDS: 30 },
      { DRAIN_SECONDS: 30, SHUTDOWN_GRACE_SECONDS: 60, UPSTREAM_GRACE_SECONDS: 86_400 },
      // Removed from the values: the program has defaults of its own.
      { DRAIN_SECONDS: null, SHUTDOWN_GRACE_SECONDS: null, UPSTREAM_GRACE_SECONDS: null },
    ];
    for (const config of periods) {
      for (const preStopSeconds of [0, 7]) {
        const values = withValue(withValue(minimal, 'config', config), 'api.preStopSeconds', preStopSeconds);
        for (const { name, pod } of deployments(await render(helm, values))) {
          const { drainMs, shutdownGraceMs, worker } = configOf(pod);
          const granted = pod.terminationGracePeriodSeconds ?? 30;
          const preStop = pod.containers[0].lifecycle?.preStop.sleep.seconds ?? 0;
          const isApi = name.endsWith('-api');
          assert.equal(preStop, isApi ? preStopSeconds : 0, name);
          const work = worker.queues.includes('waiting') ? worker.upstreamGraceMs : shutdownGraceMs;
          const ofApi = drainMs + Math.max(shutdownGraceMs, worker.upstreamGraceMs);
          const needed = preStop + (isApi ? ofApi : work) / 1000 + FORCE_SECONDS;

          assert.ok(granted > needed, `${name}: ${granted} s, and it needs ${needed}`);
          assert.ok(granted <= needed + 10, `${name}: ${granted} s, and it needs only ${needed}`);
        }
      }
    }
  });

  it('are probed where the processes answer, and killed only after a hang was logged', async () => {
    for (const hang of [0, 20, 95, 3600, null]) {
      for (const { name, pod } of deployments(await render(helm, withValue(minimal, 'config.HANG_SECONDS', hang)))) {
        const [{ startupProbe, readinessProbe, livenessProbe, ports }] = pod.containers;
        assert.equal(startupProbe?.httpGet.path, '/healthz', name);
        assert.equal(readinessProbe?.httpGet.path, '/readyz', name);
        // An api's listener of metrics has no probes.
        const probed = ports?.find((port) => port.name === readinessProbe?.httpGet.port)?.containerPort;
        const config = configOf(pod);
        assert.equal(probed, name.endsWith('-api') ? config.http.port : config.metrics?.port, name);
        if (config.hangMs === 0) {
          assert.equal(livenessProbe, undefined, `${name} may hang without limit`);
          continue;
        }
        assert.equal(livenessProbe?.httpGet.path, '/healthz', name);
        assert.equal(livenessProbe.httpGet.port, readinessProbe?.httpGet.port, name);
        const patience = livenessProbe.periodSeconds * (livenessProbe.failureThreshold - 1);
        assert.ok(patience > config.hangMs / 1000, `${name} is killed after ${patience} s`);
      }
    }
    const tls = await render(helm, withValue(minimal, 'api.tls.existingSecret', 'certificate'));
    const { spec } = findObject(tls, 'Deployment', '-api');
    assert.equal(spec.template.spec.containers[0].livenessProbe?.httpGet.scheme, 'HTTPS');
  });

  it('let out what the program lets out, to the address', () => {
    for (const name of ['minimal', 'trial', 'everything']) {
      const objects = objectsOf(name);
      for (const role of ['-api', '-worker']) {
        const { pod } = deployments(objects).find(({ name: object }) => object.includes(role)) ?? {};
        assert.ok(pod !== undefined);
        const { egress } = configOf(pod);
        const policy = { allow: parseAllowList(egress.allow), deny: parseDenyList(egress.deny), ports: egress.ports };
        const rules = findObject(objects, 'NetworkPolicy', role).spec.egress;
        const ranges = [...egress.allow, ...egress.deny].flatMap((entry) => /[\da-f:.]+\/\d+/.exec(entry)?.[0] ?? []);
        const addresses = addressesAround([...ranges, '192.168.7.9/32', '1.1.1.1/32']);
        let allowed = 0;
        for (const address of addresses) {
          for (const port of [80, 443, 8080, 8443]) {
            const may = ['http', 'https'].some((scheme) => {
              const target = targetOf(new URL(`${scheme}://${hostInUrl(address)}:${port}`));
              return target !== undefined && mayConnect(target, address, policy);
            });
            assert.equal(letsOut(rules, address, port), may, `${role}: ${address}, port ${port}`);
            allowed += may ? 1 : 0;
          }
        }
        assert.ok(allowed > 500 && allowed < addresses.length * 3, `${allowed} of ${addresses.length}`);
      }
    }
  });

  it('let migrations reach PostgreSQL and Temporal, and nothing else', () => {
    const { spec } = findObject(objectsOf('everything'), 'NetworkPolicy', '-migrate');

    assert.equal(letsOut(spec.egress, '10.1.2.3', 5432), true);
    assert.equal(letsOut(spec.egress, '10.2.2.3', 5432), false);
    assert.equal(letsOut(spec.egress, '8.8.4.4', 443), false);
    const ports = spec.egress.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? ['any']);
    assert.deepEqual(ports.map(String).toSorted(), ['53', '53', '5432', '6432', '7233']);
  });

  it('migrate before pods are replaced, on a connection of its own', () => {
    const objects = objectsOf('everything');
    const job = findObject(objects, 'Job', '-migrate');
    const ofJob = objects.filter(
      ({ metadata }) => metadata.name.endsWith('-migrate') && metadata.annotations !== undefined,
    );

    assert.deepEqual(ofJob.map(({ kind }) => kind).toSorted(), ['Job', 'NetworkPolicy', 'ServiceAccount']);
    for (const { kind, metadata } of ofJob) {
      assert.equal(metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade');
      const weight = Number(metadata.annotations['helm.sh/hook-weight']);
      assert.ok(kind === 'Job' ? weight === 0 : weight < 0, `${kind} has the weight ${weight}`);
    }
    const urlOf = ({ containers: [{ env }] }: PodSpec, variable: string) =>
      env.find(({ name }) => name === variable)?.valueFrom;
    assert.equal(urlOf(job.spec.template.spec, 'DATABASE_DIRECT_URL')?.secretKeyRef.name, 'darkroom-database');
    const { spec } = findObject(objects, 'Deployment', '-api');
    assert.equal(urlOf(spec.template.spec, 'DATABASE_URL')?.secretKeyRef.name, 'darkroom-pooler');
    assert.equal(configOf(spec.template.spec).database.isPooled, true);
    // As `admin` sees it in an api's pod.
    const ofAdmin = loadDirectDatabaseConfig(environmentFor(spec.template.spec));
    assert.ok(ofAdmin.url.startsWith('postgres://'));
    assert.equal(urlOf(spec.template.spec, 'DATABASE_DIRECT_URL')?.secretKeyRef.name, 'darkroom-database');
  });

  it('validate the configuration of apis and workers before anything is migrated', async () => {
    const wrong = { TASK_RETENTION_DAYS: 7, TRACE_RATIO: 7, CALLBACK_HEADER_PREFIX: 'webhook' };
    const values = { ...withValue(minimal, 'config', wrong), egress: { deny: ['1.1.1.1/99'] } };
    for (const [objects, problems] of [
      [objectsOf('minimal'), []],
      [objectsOf('trial'), []],
      [objectsOf('everything'), []],
      [await render(helm, values), [...Object.keys(wrong), 'EGRESS_DENY']],
    ] as const) {
      const job = findObject(objects, 'Job', '-migrate').spec;
      const { initContainers: [container, ...others] = [], ...pod } = job.template.spec;
      assert.ok(container !== undefined);
      assert.deepEqual(others, []);
      // Each variable of a worker is one of an api, or has a value that Helm has validated.
      const inHook = new Set(container.env.map((each) => each.name));
      for (const { pod: ofRole } of deployments(objects)) {
        const missing = ofRole.containers[0].env.filter((each) => !inHook.has(each.name)).map((each) => each.name);
        assert.deepEqual(
          missing.filter((each) => each !== 'WORKER_QUEUES' && each !== 'WORKER_BUILD_ID'),
          [],
        );
      }
      for (const field of ['image', 'securityContext', 'volumeMounts'] as const) {
        assert.deepEqual(container[field], pod.containers[0][field]);
      }
      const environment = {
        PATH: process.env['PATH'],
        NODE_ENV: 'production',
        ...environmentFor({ containers: [container] }),
      };
      const { code, errors } = await runToEnd([...builtProgram(), ...(container.args ?? [])], environment);

      assert.equal(code, problems.length === 0 ? 0 : 78, errors);
      for (const name of problems) assert.match(errors, new RegExp(`^  - ${name}: `, 'm'));
      assert.deepEqual(job.podFailurePolicy?.rules, [
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [78] } },
      ]);
    }
  });

  it('test an installation by the readiness of its api', async () => {
    const { containers } = podsOf(objectsOf('minimal')).get('darkroom-test') ?? {};
    assert.ok(containers !== undefined);
    const [{ command = [], args = [], env }] = containers;
    const url = new URL(env.find(({ name }) => name === 'READY_URL')?.value ?? '');
    assert.equal(url.href, 'http://darkroom-api.production.svc:8787/readyz');
    assert.equal(command[0], 'node');
    for (const [status, code] of [
      [200, 0],
      [503, 1],
    ] as const) {
      const server = await startAnswering(status);
      const environment = { ...process.env, READY_URL: `${server.url}${url.pathname}` };
      const ended = await runToEnd([...command.slice(1), ...args], environment);
      await server.close();
      assert.deepEqual(ended, { code, output: `${status} /readyz\n`, errors: '' });
      if (status === 503) assert.equal((await runToEnd([...command.slice(1), ...args], environment)).code, 1);
    }
  });
});

/**
 * The Helm chart: what it accepts and rejects, that Helm's linter and the schemas of Kubernetes find nothing, and that
 * every value has an effect. What its objects say: helm-objects.test.ts.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { documentedValues } from '../docs/helm-values.ts';
import type { SchemaNode } from '../docs/helm-values.ts';
import { alternativesOf } from './helm-alternatives.ts';
import { CHART, objectsOf, readValues, renderText, runHelm, withValue } from './helm-chart.ts';
import type { Values } from './helm-chart.ts';
import { HELM_VERSIONS, obtainHelm, obtainKubeconform, whyNoHelm } from './helm-programs.ts';
import { KUBERNETES_VERSIONS, obtainKubernetesSchemas, obtainOperatorSchemas } from './kubernetes-schemas.ts';

/** Two cores: more at once only wait for each other. */
const AT_ONCE = 4;
const HELM_4 = '4.3.1';

/** The values files that are rendered as they are. */
const FILES = ['ci/minimal-values.yaml', 'values-trial.yaml', 'ci/everything-values.yaml'] as const;

const skip = whyNoHelm();

describe('the Helm chart', { skip, timeout: 3_600_000 }, () => {
  const helms = new Map<string, string>();
  let helm: string;
  let files: ReadonlyMap<string, Values>;
  let minimal: Values;
  let everything: Values;
  before(async () => {
    for (const version of HELM_VERSIONS) helms.set(version, await obtainHelm(version));
    helm = helms.get(HELM_4) ?? '';
    files = new Map(await Promise.all(FILES.map(async (file) => [file, await readValues(file)] as const)));
    minimal = files.get('ci/minimal-values.yaml') ?? {};
    everything = files.get('ci/everything-values.yaml') ?? {};
  });

  /** @returns what Helm says, or undefined if it renders the values. */
  const rejectionOf = async (values: Values): Promise<string | undefined> =>
    renderText(helm, values).then(
      () => undefined,
      (error: unknown) => (error as { stderr: string }).stderr,
    );

  for (const version of HELM_VERSIONS) {
    it(`passes the linter of Helm ${version}, without a warning`, async () => {
      const program = helms.get(version) ?? '';
      for (const values of [{}, ...files.values()]) {
        assert.match(await runHelm(program, ['lint', '--strict'], values), /1 chart\(s\) linted, 0 chart\(s\) failed/);
      }
    });
  }

  it('renders the same objects with every major release of Helm', async () => {
    for (const [file, values] of files) {
      const [first, ...others] = await Promise.all(
        [...helms.values()].map(async (program) => objectsOf(await renderText(program, values))),
      );
      const byName = (objects: typeof first) =>
        new Map(objects?.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
      for (const other of others) assert.deepEqual(byName(other), byName(first), file);
    }
  });

  describe('compared with the schemas of Kubernetes', () => {
    let kubeconform: string;
    let operator: string;
    before(async () => {
      kubeconform = await obtainKubeconform();
      operator = await obtainOperatorSchemas();
    });

    interface Report {
      /** Those that are not valid. */
      readonly resources?: readonly { kind: string; name: string; status: string; msg: string }[];
      readonly summary: Readonly<Record<'valid' | 'invalid' | 'errors' | 'skipped', number>>;
    }

    const validate = async (text: string, version: string): Promise<Report> => {
      const file = '{{.ResourceKind}}{{.KindSuffix}}.json';
      const locations = [await obtainKubernetesSchemas(version), operator].flatMap((directory) => [
        '-schema-location',
        path.join(directory, file),
      ]);
      const args = ['-strict', '-summary', '-output', 'json', '-kubernetes-version', version, ...locations, '-'];
      const { stdout, stderr } = spawnSync(kubeconform, args, { input: text, encoding: 'utf8' });
      assert.equal(stderr, '');
      return JSON.parse(stdout) as Report;
    };

    for (const version of KUBERNETES_VERSIONS) {
      it(`has only valid objects, for ${version}`, async () => {
        for (const [file, values] of files) {
          const text = await renderText(helm, values);
          const { resources = [], summary } = await validate(text, version);

          assert.deepEqual(resources, [], file);
          assert.deepEqual(summary, { valid: objectsOf(text).length, invalid: 0, errors: 0, skipped: 0 }, file);
        }
      });

      it(`is really compared: a wrong field, type or kind is found, for ${version}`, async () => {
        const text = await renderText(helm, everything);
        const broken = [
          ['terminationGracePeriodSeconds:', 'terminationGraceSeconds:'],
          ['maxSkew: 1', 'maxSkew: one'],
          ['targetLabel: job', 'targetLable: job'],
          ['alert: DarkroomNoWorker', 'alarm: DarkroomNoWorker'],
          ['unhealthyPodEvictionPolicy: AlwaysAllow', 'unhealthyPodEvictionPolicy: true'],
          ['apiVersion: autoscaling/v2', 'apiVersion: autoscaling/v2beta2'],
        ] as const;
        for (const [right, wrong] of broken) {
          assert.ok(text.includes(right), right);
          const { invalid, errors } = (await validate(text.replaceAll(right, wrong), version)).summary;
          assert.ok(invalid + errors > 0, wrong);
        }
      });
    }
  });

  it('says everything that is missing at once', async () => {
    const message = (await rejectionOf({})) ?? '';

    for (const name of [
      'image.repository',
      'publicUrl',
      'temporal.address',
      'store.url',
      'secrets.existingSecret',
      'api.trustedProxies',
    ]) {
      assert.match(message, new RegExp(`- ${name.replaceAll('.', '\\.')} is required`));
    }
    assert.match(message, /the values have 6 problem\(s\)/);
  });

  const one = (name: string, queues: readonly string[]) => ({ name, queues });
  const all = ['media', 'generation', 'waiting', 'archiving', 'callbacks', 'maintenance'];
  const named = { host: 'receiver.internal', port: 443 };
  const fal = { name: 'fal', key: 'fal' };
  const digits = '0123456789abcdef'.repeat(4);
  const openAi = 'sk-proj-abcdefghijklmnopqrstuvwx';
  const uuid = '01234567-89ab-cdef-0123-456789abcdef';

  /** What is changed in the minimal values, and what Helm says then. */
  const REJECTED: readonly (readonly [string, unknown, RegExp])[] = [
    ['apii', {}, /additional properties 'apii' not allowed/],
    ['api.replica', 3, /at '\/api': additional properties 'replica' not allowed/],
    ['api.replicas', -1, /at '\/api\/replicas': minimum: got -1, want 0/],
    ['api.replicas', '3', /at '\/api\/replicas': got string, want integer/],
    ['api.port', 443, /at '\/api\/port': minimum: got 443, want 1,?024/],
    ['api.port', 9464, /api\.port, api\.admin\.port and metrics\.port: each needs its own port/],
    ['api.trustedProxies', [], /api\.trustedProxies is required, or api\.tls\.existingSecret/],
    ['api.trustedProxies', ['0.0.0.0/0'], /at '\/api\/trustedProxies\/0'/],
    ['image.repository', '', /image\.repository is required: where your image is/],
    ['image.repository', 'darkroom@sha256', /at '\/image\/repository'/],
    ['api.image.digest', 'sha256:1', /at '\/api\/image\/digest'/],
    ['api.autoscaling', { enabled: true, minReplicas: 9, maxReplicas: 3 }, /api\.autoscaling\.minReplicas is greater/],
    ['publicUrl', 'http://api.example.com', /at '\/publicUrl'/],
    ['publicUrl', 'https://user@api.example.com', /at '\/publicUrl'/],
    ['publicUrl', 'https://api.example.com/v1', /at '\/publicUrl'/],
    ['publicUrl', `https://${'a'.repeat(300)}.example.com`, /at '\/publicUrl'/],
    ['store.url', 'file:///data/objects', /at '\/store\/url'/],
    ['store.endpoint', 'http://key:secret@s3.internal', /at '\/store\/endpoint'/],
    ['temporal.address', 'temporal', /at '\/temporal\/address'/],
    ['temporal.address', 'temporal:99999', /at '\/temporal\/address'/],
    ['temporal.address', 'temporal:0', /at '\/temporal\/address'/],
    ['temporal.tls.caKey', 'ca.crt', /temporal\.tls\.existingSecret is required/],
    ['temporal.tls', { existingSecret: 'tls', certKey: 'tls.crt' }, /certKey and temporal\.tls\.keyKey: set both/],
    // Secrets by reference, in every place that somebody may try.
    ['secrets.urlSigningKey', digits, /at '\/secrets\/urlSigningKey': got string, want object/],
    ['secrets.urlSigningKey', { value: digits }, /additional properties 'value' not allowed/],
    ['secrets.encryptionKey.key', '', /secrets\.encryptionKey\.key is required/],
    ['secrets.s3AccessKeyId.key', 'ID', /s3AccessKeyId\.key and secrets\.s3SecretAccessKey\.key: set both or neither/],
    ['config.DATABASE_URL', 'postgres://u:p@db/d', /additional properties 'DATABASE_URL' not allowed/],
    ['config.DATABSE_URL', 'postgres://u:p@db/d', /additional properties 'DATABSE_URL' not allowed/],
    ['config.WORKER_BUILD_ID', '1', /additional properties 'WORKER_BUILD_ID' not allowed/],
    ['config.WORKER_QUEUES', 'media', /additional properties 'WORKER_QUEUES' not allowed/],
    ['upstreams', [{ name: 'fal', value: digits }], /at '\/upstreams\/0': additional properties 'value' not allowed/],
    ['upstreams', [{ name: 'fal', url: 'https://u:p@fal.run' }], /at '\/upstreams\/0\/url'/],
    ['upstreams', [{ name: 'Fal!' }], /at '\/upstreams\/0\/name'/],
    ['extraEnv', [{ name: 'ENCRYPTION_KEY', value: digits }], /extraEnv: ENCRYPTION_KEY is a setting of Darkroom/],
    ['extraEnv', [{ name: 'ADMIN_TOKEN_FILE', value: '/t' }], /extraEnv: ADMIN_TOKEN_FILE is a setting of Darkroom/],
    ['extraEnv', [{ name: 'UPSTREAM_FAL_KEY', value: digits }], /extraEnv: UPSTREAM_FAL_KEY is a setting of Darkroom/],
    // Names of keys, where somebody has put what these keys contain.
    ['secrets.adminToken.key', digits, /secrets\.adminToken\.key looks like a secret itself: it is a name/],
    ['secrets.existingSecret', digits, /secrets\.existingSecret looks like a secret itself/],
    ['upstreams', [{ name: 'openai', key: openAi }], /upstreams \(openai\): key looks like a secret itself/],
    ['upstreams', [{ name: 'fal', key: uuid }], /upstreams \(fal\): key looks like a secret itself/],
    ['upstreams', [{ name: 'aws', key: 'AKIAIOSFODNN7EXAMPLE' }], /upstreams \(aws\): key looks like a secret/],
    ['extraEnv', [{ name: 'SENTRY', value: openAi }], /extraEnv: SENTRY looks like a secret: take it from a Secret/],
    ['extraEnv', [{ name: 'MY_TOKEN', value: 'correct-horse' }], /extraEnv: MY_TOKEN looks like a secret/],
    ['extraEnv', [{ name: 'P', value: 'http://u:p@proxy:3128' }], /extraEnv: P looks like a secret/],
    [
      'config.DATABASE_POOLER',
      'transaction',
      /secrets\.directDatabaseUrl\.key is required with config\.DATABASE_POOLER/,
    ],
    ['secrets.directDatabaseUrl.key', 'DIRECT', /config\.DATABASE_POOLER has to be transaction with secrets\.directD/],
    ['upstreams', [{ name: 'fal' }], /upstreams: fal has neither key nor url/],
    ['upstreams', [fal, fal], /upstreams: two entries have the name fal/],
    ['commonLabels', { 'app.kubernetes.io/name': 'x' }, /commonLabels: app\.kubernetes\.io\/name is set by the chart/],
    ['api.podLabels', { 'helm.sh/chart': 'x' }, /api\.podLabels: helm\.sh\/chart is set by the chart/],
    ['workerDefaults.podLabels', { 'darkroom/worker': 'x' }, /workers \(media\): podLabels: darkroom\/worker is set/],
    // Settings have the bounds of the service.
    ['config.DRAIN_SECONDS', 601, /at '\/config\/DRAIN_SECONDS': maximum: got 601, want 600/],
    ['config.DRAIN_SECONDS', 1.5, /at '\/config\/DRAIN_SECONDS': got number, want integer/],
    ['config.DRAIN_SECONDS', '10', /at '\/config\/DRAIN_SECONDS': got string, want integer/],
    ['config.LOG_LEVEL', 'loud', /at '\/config\/LOG_LEVEL': value must be one of 'trace'/],
    ['config.LOG_REQUESTS', 'yes', /at '\/config\/LOG_REQUESTS': got string, want boolean/],
    ['terminationMarginSeconds', 0, /at '\/terminationMarginSeconds': minimum: got 0, want 8/],
    ['workerVersioning.previous', [{ tag: '1' }], /workerVersioning\.previous needs workerVersioning\.enabled/],
    ['workerVersioning', { enabled: true, previous: [{}] }, /previous: an entry has neither tag nor digest/],
    [
      'workerVersioning',
      { enabled: true, buildId: 'a', previous: [{ tag: 'a' }] },
      /workerVersioning: two releases have the build id a/,
    ],
    ['workerVersioning.buildId', '-1', /at '\/workerVersioning\/buildId'/],
    ['workers', [], /at '\/workers': minItems: got 0, want 1/],
    [
      'workers',
      [one('all', all.slice(1))],
      /workers: no entry serves the queue media, and its work would wait for ever/,
    ],
    ['workerDefaults.replicas', 0, /every entry that serves the queue media has 0 replicas.*; to stop workers/],
    ['workers', [one('a', all.slice(1)), { ...one('b', ['media']), replicas: 0 }], /the queue media has 0 replicas/],
    ['workers', [one('a', all), one('a', all)], /workers: two entries have the name a/],
    ['workers', [one('a', [...all, 'videos'])], /at '\/workers\/0\/queues\/6': value must be one of 'media'/],
    ['workers', [one('a', [...all, 'media'])], /at '\/workers\/0\/queues': items at 0 and 6 are equal/],
    ['workers', [one('A_B', all)], /at '\/workers\/0\/name'/],
    ['workers', [{ ...one('a', all), replica: 1 }], /at '\/workers\/0': additional properties 'replica' not allowed/],
    ['workers', [{ queues: all }], /at '\/workers\/0': missing property 'name'/],
    [
      'workers',
      [{ ...one('a', all), autoscaling: { enabled: true, minReplicas: 11 } }],
      /workers: a: autoscaling\.minReplicas is greater than autoscaling\.maxReplicas/,
    ],
    ['egress.allow', [named], /egress\.allow: receiver\.internal is a name, which a network policy cannot contain/],
    ['egress.allow', [{ host: '*.internal', port: 443 }], /at '\/egress\/allow\/0\/host'/],
    ['egress.allow', [{ host: '10.0.0.0/8' }], /at '\/egress\/allow\/0': missing property 'port'/],
    ['egress.deny', ['https://example.com'], /at '\/egress\/deny\/0'/],
    ['egress.ports', [0], /at '\/egress\/ports\/0': minimum: got 0, want 1/],
    ['ingress.enabled', true, /ingress\.tls\.secretName is required, or ingress\.tls\.external: only HTTPS is served/],
    ['networkPolicy.egress.postgresql', '10.0.0.1', /at '\/networkPolicy\/egress\/postgresql': got string, want array/],
    ['fullnameOverride', 'Darkroom', /at '\/fullnameOverride'/],
  ];
  it('rejects bad values, and says which and why', async () => {
    for (const [changed, value, wanted] of REJECTED) {
      const message = await rejectionOf(withValue(minimal, changed, value));
      for (const secret of [openAi, uuid, digits]) assert.ok(message?.includes(secret) !== true, message);
      assert.match(message ?? 'accepted', wanted, `${changed}: ${JSON.stringify(value)}`);
    }
  });

  it('accepts names and variables that are no secrets', async () => {
    const names = ['OPENAI_API_KEY', 'openai', 'sk-live', 'api-key-of-the-upstream-for-production-use-1', 'tls.key'];
    const upstreams = names.map((key, index) => ({ name: `u${index}`, key }));
    const extraEnv = [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/company/ca.crt' },
      { name: 'GOOGLE_CREDENTIALS', value: '/etc/company/google.json' },
      { name: 'GIT_COMMIT', value: digits.slice(0, 40) },
      { name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' },
      { name: 'MY_TOKEN', valueFrom: { secretKeyRef: { name: 'mine', key: 'token' } } },
    ];

    assert.equal(await rejectionOf({ ...minimal, upstreams, extraEnv }), undefined);
  });

  it('accepts an entry without workers where another has some, or an autoscaler does', async () => {
    const idle = { ...one('idle', ['media']), replicas: 0 };

    assert.equal(await rejectionOf(withValue(minimal, 'workers', [one('a', all), idle])), undefined);
    const scaled = withValue(minimal, 'workerDefaults', { replicas: 0, autoscaling: { enabled: true } });
    assert.equal(await rejectionOf(scaled), undefined);
  });

  it('rejects a cluster that is too old, before it looks at the values', async () => {
    await assert.rejects(renderText(helm, minimal, '1.29.14'), /requires kubeVersion: >=1\.30\.0-0/);
  });

  it('gives every documented value an effect', async () => {
    const schema = JSON.parse(await readFile(path.join(CHART, 'values.schema.json'), 'utf8')) as SchemaNode;
    const values = documentedValues(await readFile(path.join(CHART, 'values.yaml'), 'utf8'), schema);
    // Without a certificate the Ingress has to be said to need none.
    const bases = [everything, minimal, withValue(everything, 'ingress.tls.secretName', '')];
    const outcome = (changed: Values): Promise<string> => renderText(helm, changed).catch(() => 'rejected');
    const before = await Promise.all(bases.map(outcome));
    const hasEffect = async (value: (typeof values)[number]): Promise<boolean> => {
      const [list = '', field] = value.path.split('[].');
      const node = field === undefined ? undefined : schemaAt(schema, list)?.items?.properties?.[field];
      // The last of the entries for egress is a name, which has all of its fields.
      const place = field === undefined ? list : `${list}.${list === 'egress.allow' ? 3 : 0}.${field}`;
      for (const alternative of alternativesOf(value, node)) {
        for (const [index, base] of bases.entries()) {
          const after = await outcome(withValue(base, place, alternative));
          if (after !== 'rejected' && after !== before[index]) return true;
        }
      }
      return false;
    };

    const without: string[] = [];
    for (let index = 0; index < values.length; index += AT_ONCE) {
      const some = values.slice(index, index + AT_ONCE);
      const effects = await Promise.all(some.map(hasEffect));
      without.push(...some.filter((_, at) => effects[at] === false).map(({ path: name }) => name));
    }
    assert.deepEqual(without, []);
  });

  it('uses no value that is not documented', async () => {
    const schema = JSON.parse(await readFile(path.join(CHART, 'values.schema.json'), 'utf8')) as SchemaNode;
    const directory = path.join(CHART, 'templates');
    const names = await readdir(directory, { recursive: true });
    const texts = await Promise.all(
      names.filter((name) => /\.\w+$/.test(name)).map((name) => readFile(path.join(directory, name), 'utf8')),
    );
    const used = [
      ...new Set(texts.flatMap((text) => [...text.matchAll(/\.Values\.([\w.]*\w)/g)].map(([, name = '']) => name))),
    ];

    assert.ok(used.length > 50, `only ${used.length} uses were found`);
    assert.deepEqual(
      used.filter((name) => schemaAt(schema, name) === undefined),
      [],
    );
  });
});

function schemaAt(schema: SchemaNode, dotted: string): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema;
  for (const name of dotted.split('.')) node = node?.properties?.[name];
  return node;
}

/**
 * The reviewed list of everything in the program through which a connection could be opened, or a process started
 * that opens one. It matters who chose the address: one that a client or a provider named goes through `src/egress`;
 * the rest is configured by the operator, on the loopback, or no network at all. Counted by ways-out.test.ts.
 */

/** What a file may use, and why no client and no provider can choose the destination. */
export interface Reviewed {
  readonly ways: readonly string[];
  readonly reason: string;
}

/** Builtin modules, globals and computed imports, by file. */
export const CONNECTING: Readonly<Record<string, Reviewed>> = {
  'packages/api/src/client/api-client.ts': {
    ways: ['fetch'],
    reason: 'the default; the api passes one that stays in its own process',
  },
  'src/egress/connector.ts': {
    ways: ['net.connect', 'tls.connect'],
    reason:
      'the one module that connects to foreign addresses: resolves them, checks them, connects to what it checked',
  },
  'src/egress/name-resolver.ts': {
    ways: ['dns/promises.Resolver'],
    reason: "asks the system's name servers for names of others, on the event loop",
  },
  'src/egress/upstream-connector.ts': {
    ways: ['dns.lookup'],
    reason: "resolves the names of upstreams, from the operator's model files",
  },
  'src/main.ts': { ways: ['import'], reason: "loads the program's own bundle, by its path beside this module" },
  'src/standalone/postgres.ts': {
    ways: ['child_process.execFile', 'createRequire', 'import'],
    reason:
      'finds the programs of PostgreSQL in an installed package, by names of our own, and asks for their version; asks `id` for a user of this machine',
  },
  'src/standalone/processes.ts': {
    ways: ['child_process.execFile', 'child_process.spawn'],
    reason:
      'starts our own processes, PostgreSQL and Temporal on this machine, with arguments of our own, and asks `ps` about them',
  },
  'src/standalone/role.ts': {
    ways: ['fetch'],
    reason: 'asks the api that it started itself whether it is ready, on the loopback',
  },
  'src/standalone/temporal-cli-sources.ts': {
    ways: ['child_process.execFile', 'child_process.spawn', 'fetch'],
    reason:
      "fetches the Temporal CLI from its maker's address, installs it with pip or has Go build it, at the first start on the operator's machine",
  },
  'src/standalone/temporal-cli.ts': {
    ways: ['child_process.execFile'],
    reason: 'asks a found Temporal CLI for its version',
  },
  'src/standalone/temporal-ui-guard.ts': {
    ways: ['http.request'],
    reason: "passes on to Temporal's Web UI on the loopback, on a port of our own",
  },
  'src/processes/hang-watch-thread.ts': {
    ways: ['inspector.Session'],
    reason: 'asks the main thread of its own process where it stands; no port is opened',
  },
  'src/processes/hang-watch.ts': {
    ways: ['inspector.url'],
    reason: 'asks whether a debugger listens to its own process; no port is opened',
  },
  'packages/engines/src/image/fonts.ts': {
    ways: ['createRequire'],
    reason: 'finds the files of a font in its package',
  },
  'packages/engines/src/song/band.ts': {
    ways: ['createRequire'],
    reason: 'finds the file of a sound bank in its package',
  },
  'packages/engines/src/speech/flite-program.ts': {
    ways: ['createRequire'],
    reason: 'finds the file of the speech program in its package',
  },
  'src/http/routes/reference.ts': {
    ways: ['createRequire', 'fetch'],
    reason: 'finds files of a package; the fetch is in the script of the page and runs in a browser',
  },
  'src/http/app/tls-certificates.ts': {
    ways: ['tls.createSecureContext'],
    reason: "for the server's own certificate; connects to nothing",
  },
  'packages/media/src/media-child.ts': {
    ways: ['child_process.spawn'],
    reason: 'runs our decoder in a process without an environment, in a sandbox where the system allows',
  },
  'packages/media/src/sandbox.ts': {
    ways: ['child_process.execFile'],
    reason: 'tries the sandbox of those processes with the version of Node',
  },
  'src/temporal/runtime.ts': {
    ways: ['fetch'],
    reason: "reads the Temporal SDK's own metrics from this very process, on the loopback",
  },
};

/** Packages that open connections, with the files that may use them. */
export const PACKAGES_THAT_CONNECT: Readonly<
  Record<string, { readonly files: readonly string[]; readonly reason: string }>
> = {
  '@aws-sdk/client-s3': { files: ['src/objects/stores/s3-store.ts'], reason: 'to the object store that is configured' },
  '@aws-sdk/lib-storage': {
    files: ['src/objects/stores/s3-store.ts'],
    reason: 'to the object store that is configured',
  },
  '@aws-sdk/s3-request-presigner': { files: ['src/objects/stores/s3-store.ts'], reason: 'signs only' },
  '@opentelemetry/exporter-trace-otlp-http': {
    files: ['src/telemetry/otlp-tracing.ts'],
    reason: 'to the collector that is configured',
  },
  '@temporalio/client': {
    files: [
      'src/standalone/temporal-server.ts',
      'src/temporal/connection.ts',
      'src/temporal/schedules.ts',
      'src/temporal/workflow-gateway.ts',
    ],
    reason: 'to the Temporal server that is configured',
  },
  '@temporalio/worker': {
    files: [
      'src/processes/worker.ts',
      'src/temporal/connection.ts',
      'src/temporal/runtime.ts',
      'src/temporal/workflow-bundle.ts',
    ],
    reason: 'to the Temporal server that is configured',
  },
  'libheif-js': {
    files: ['packages/media/src/heic-decoding.ts'],
    reason:
      'its loader could fetch its WebAssembly; the bundle that is imported has it inside, in a child without a network',
  },
  pg: {
    files: [
      'src/database/copy.ts',
      'src/database/database.ts',
      'src/database/limited-query.ts',
      'src/database/pooler.ts',
      'src/standalone/postgres.ts',
    ],
    reason: 'to the database that is configured',
  },
  'pg-copy-streams': { files: ['src/database/copy.ts'], reason: 'over a connection of pg, to the database' },
  'node-pg-migrate': { files: ['src/database/migrate.ts'], reason: 'to the database that is configured' },
  undici: {
    files: [
      'src/egress/exchange.ts',
      'src/egress/upstream-connector.ts',
      'src/providers/upstream-download.ts',
      'src/upstreams/exchange.ts',
    ],
    reason:
      "in egress over the guarded connector; elsewhere to the upstream whose base URL, further hosts and token URL are in the operator's model file; no response leads anywhere else",
  },
};

/** Packages that open none as we use them. Media libraries get bytes or an open file, never a URL. */
export const PACKAGES_THAT_DO_NOT: readonly string[] = [
  '@commander-js/extra-typings',
  '@fastify/busboy',
  '@koa/router',
  '@modelcontextprotocol/sdk',
  '@napi-rs/canvas',
  '@opentelemetry/api',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  '@temporalio/activity',
  '@temporalio/common',
  '@temporalio/workflow',
  'ajv',
  'etag',
  'eventsource-parser',
  'fastest-levenshtein',
  'file-type',
  'gpt-tokenizer',
  'ipaddr.js',
  'jose',
  'jsonata',
  'koa',
  'light-my-request',
  'lru-cache',
  'mediabunny',
  'node-av',
  'p-retry',
  'pino',
  'piscina',
  'prom-client',
  'range-parser',
  'sharp',
  'spessasynth_core',
  'typebox',
  'ulid',
  'zod',
];

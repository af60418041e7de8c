/**
 * Every environment variable that the program reads: name, form, default, and the line that explains it in
 * `.env.example` (a test compares the two). Secrets can also come from a file named by `<NAME>_FILE`.
 */

/** How a variable's text is parsed. */
export type VariableKind = 'text' | 'secret' | 'integer' | 'boolean' | 'list' | 'choice';

export interface Variable {
  readonly kind: VariableKind;
  /** Absent: the variable is required if the feature that reads it is used. */
  readonly fallback?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export const VARIABLES = {
  HOST: {
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address the API listens on. Off loopback TLS_CERT_FILE or TRUSTED_PROXIES is required.',
  },
  PORT: { kind: 'integer', fallback: '8787', minimum: 0, maximum: 65535, help: 'Port the API listens on.' },
  PUBLIC_URL: {
    kind: 'text',
    fallback: '',
    help: 'The only source of returned URLs, without a path, e.g. https://api.example.com. Default: the loopback listener; required elsewhere.',
  },
  TLS_CERT_FILE: {
    kind: 'text',
    fallback: '',
    help: 'Certificate chain (PEM) for serving HTTPS directly. Both files are read again when they change, and on SIGHUP.',
  },
  TLS_KEY_FILE: { kind: 'text', fallback: '', help: 'Private key (PEM) of TLS_CERT_FILE, without a passphrase.' },
  TRUSTED_PROXIES: {
    kind: 'list',
    fallback: '',
    help: 'CIDRs of the TLS proxies in front, comma-separated. Only they may set X-Forwarded-For and X-Forwarded-Proto.',
  },
  MAX_CONNECTIONS: {
    kind: 'integer',
    fallback: '10000',
    minimum: 0,
    maximum: 1_000_000,
    help: 'Maximum open connections per listener of the api; further connections are closed at once. 0: no limit.',
  },
  MAX_CONNECTIONS_PER_ADDRESS: {
    kind: 'integer',
    fallback: '1000',
    minimum: 0,
    maximum: 1_000_000,
    help: 'The same for one peer address (of IPv6 a /64). Trusted proxies are not counted. 0: no limit.',
  },
  KEEP_ALIVE_SECONDS: {
    kind: 'integer',
    fallback: '620',
    minimum: 1,
    maximum: 86_400,
    help: 'How long an idle connection to the api stays open. Longer than the balancer in front keeps its connections, which is 600 s at some: it would send a request on one that is being closed.',
  },
  BODY_MB_PER_MINUTE: {
    kind: 'integer',
    fallback: '600',
    minimum: 10,
    maximum: 1_000_000,
    help: 'Megabytes of JSON bodies an account may send per minute, counted before they are read; a value counts as at least 100 bytes. Beyond them: 429.',
  },
  BODY_MB_IN_FLIGHT: {
    kind: 'integer',
    fallback: '256',
    minimum: 64,
    maximum: 100_000,
    help: 'Maximum megabytes of JSON bodies that an api process has in memory at the same time. Requests beyond it get 503; requests of one account beyond a quarter of it get 429.',
  },
  ADMIN_HOST: {
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address the admin listener listens on. Off loopback TLS_CERT_FILE or TRUSTED_PROXIES is required.',
  },
  ADMIN_PORT: {
    kind: 'integer',
    fallback: '8788',
    minimum: 0,
    maximum: 65535,
    help: 'Port of the admin listener; 0 picks a free one.',
  },
  ADMIN_TOKEN: {
    kind: 'secret',
    fallback: '',
    help: 'At least 32 characters; what operators send to the admin listener as Authorization: Bearer. Empty: there is no admin listener. `npm start` makes one.',
  },
  METRICS_PORT: {
    kind: 'integer',
    fallback: '0',
    minimum: 0,
    maximum: 65535,
    help: 'Port for GET /metrics of a process, and of a worker /healthz and /readyz too; 0: none. Under `npm start` it is the port of the api, and the worker has the next one.',
  },
  METRICS_HOST: {
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address that METRICS_PORT is on. Plain HTTP without a credential, and without secrets: off loopback only where a private network is.',
  },
  DATABASE_URL: { kind: 'secret', help: 'PostgreSQL 15 or newer, e.g. postgres://user:password@db:5432/darkroom.' },
  DATABASE_DIRECT_URL: {
    kind: 'secret',
    fallback: '',
    help: 'The same database without the pooler, for what needs a session of its own: migrate, and admin models verify. Required by them if DATABASE_POOLER is set. Default: DATABASE_URL.',
  },
  DATABASE_POOLER: {
    kind: 'choice',
    fallback: 'none',
    choices: ['none', 'transaction'],
    help: 'transaction: DATABASE_URL is the address of a pooler, such as PgBouncer in transaction or session mode.',
  },
  DATABASE_STATEMENTS: {
    kind: 'choice',
    fallback: '',
    choices: ['named', 'unnamed'],
    help: 'Whether statements are prepared once per connection (named), which a pooler has to support: PgBouncer from 1.21, with max_prepared_statements. Default: unnamed with DATABASE_POOLER, named without.',
  },
  DATABASE_POOL_SIZE: {
    kind: 'integer',
    fallback: '10',
    minimum: 2,
    maximum: 500,
    help: 'Maximum database connections per process.',
  },
  TEMPORAL_ADDRESS: { kind: 'text', help: 'Temporal frontend, host:port.' },
  TEMPORAL_NAMESPACE: { kind: 'text', fallback: 'default', help: 'Temporal namespace.' },
  TEMPORAL_UI_URL: {
    kind: 'text',
    fallback: '',
    help: "Temporal's Web UI, which the dashboard's tasks then link to: only where its users are operators. `npm start` has its own.",
  },
  TEMPORAL_API_KEY: { kind: 'secret', fallback: '', help: 'API key for Temporal Cloud; implies TLS.' },
  TEMPORAL_TLS: { kind: 'boolean', fallback: 'false', help: 'Whether to use TLS to Temporal.' },
  TEMPORAL_TLS_CA_FILE: {
    kind: 'text',
    fallback: '',
    help: 'CA certificate (PEM) of the Temporal server; implies TLS.',
  },
  TEMPORAL_TLS_CERT_FILE: { kind: 'text', fallback: '', help: 'Client certificate (PEM) for mutual TLS.' },
  TEMPORAL_TLS_KEY_FILE: { kind: 'text', fallback: '', help: 'Client key (PEM) for mutual TLS.' },
  STORE_URL: { kind: 'text', help: 'Where outputs are stored: file:///absolute/directory or s3://bucket/prefix.' },
  S3_ENDPOINT: { kind: 'text', fallback: '', help: 'Endpoint of an S3-compatible store; empty for AWS.' },
  S3_PUBLIC_ENDPOINT: {
    kind: 'text',
    fallback: '',
    help: 'Where clients reach the S3 server, for DOWNLOADS=direct; empty: at S3_ENDPOINT.',
  },
  S3_REGION: { kind: 'text', fallback: 'us-east-1', help: 'Region of the bucket.' },
  S3_ACCESS_KEY_ID: { kind: 'secret', fallback: '', help: 'Access key; empty takes the usual AWS sources.' },
  S3_SECRET_ACCESS_KEY: { kind: 'secret', fallback: '', help: 'Secret of S3_ACCESS_KEY_ID.' },
  DOWNLOADS: {
    kind: 'choice',
    fallback: 'proxy',
    choices: ['proxy', 'direct'],
    help: 'How bytes reach clients: through the api, or by a redirect to an address that the S3 store opens.',
  },
  URL_SIGNING_KEY: { kind: 'secret', help: 'At least 32 characters; signs download URLs. The same in every process.' },
  URL_SIGNING_KEY_FALLBACKS: {
    kind: 'secret',
    fallback: '',
    help: 'Comma-separated keys whose download URLs are accepted too, while URL_SIGNING_KEY is rotated.',
  },
  ENCRYPTION_KEY: {
    kind: 'secret',
    help: 'At least 32 characters; encrypts webhook secrets at rest. The same in every process.',
  },
  ENCRYPTION_KEY_FALLBACKS: {
    kind: 'secret',
    fallback: '',
    help: 'Comma-separated keys that stored secrets are decrypted with too, while ENCRYPTION_KEY is rotated.',
  },
  OUTPUT_RETENTION_DAYS: {
    kind: 'integer',
    fallback: '7',
    minimum: 1,
    maximum: 3650,
    help: 'How long temporary outputs are retained (spec §2.6). A value above TASK_RETENTION_DAYS retains tasks for as long.',
  },
  STORAGE_USD_PER_GB_MONTH: {
    kind: 'text',
    fallback: '0.05',
    help: 'Price of persistent storage in USD per GB (10^9 bytes) and month, metered per UTC day; 0 makes it free.',
  },
  INPUT_RETENTION_DAYS: {
    kind: 'integer',
    fallback: '30',
    minimum: 0,
    maximum: 3650,
    help: 'How long after its end the input of a task is retained; 0: without limit. A task is not pruned before its input is erased, so a value above TASK_RETENTION_DAYS retains tasks for as long; 0 does not.',
  },
  TASK_RETENTION_DAYS: {
    kind: 'integer',
    fallback: '0',
    minimum: 0,
    maximum: 36500,
    help: 'How long after its end a task stays in the database; then it is exported to the object store and pruned. At least 30; 0: without limit. It stays for longer while one of its outputs is stored (a persistent one: until it is deleted) or its input is retained (INPUT_RETENTION_DAYS).',
  },
  TEXT_CALL_RETENTION_DAYS: {
    kind: 'integer',
    fallback: '0',
    minimum: 0,
    maximum: 36500,
    help: 'How long after its settlement the record of a text call stays in the database; then it is exported to the object store and pruned. At least 30; 0: without limit.',
  },
  URL_LIFETIME_SECONDS: {
    kind: 'integer',
    fallback: '1800',
    minimum: 60,
    maximum: 86400,
    help: 'Minimum lifetime of a download URL.',
  },
  MODELS_DIR: {
    kind: 'text',
    fallback: '',
    help: 'A directory with your own model files (docs/guides/adding-a-model.md), which the api reads in addition to the embedded ones; empty: the embedded models only.',
  },
  CALLBACK_OFFSETS_SECONDS: {
    kind: 'list',
    fallback: '0,60,300,1200',
    help: 'When a callback is attempted, in seconds after the first attempt.',
  },
  CALLBACK_DISABLE_AFTER_DAYS: {
    kind: 'integer',
    fallback: '5',
    minimum: 0,
    maximum: 3650,
    help: 'After so many days of nothing but failures a receiver gets one attempt of each callback instead of all, until one arrives; 0: never.',
  },
  CALLBACK_HEADER_PREFIX: {
    kind: 'text',
    fallback: 'X-Darkroom',
    help: 'Prefix of the signature headers of a callback (<prefix>-Timestamp, <prefix>-Signature), and of the header that notifies an account of failing receivers. Receivers must be configured with it: it appears in no callback.',
  },
  EGRESS_ALLOW: {
    kind: 'list',
    fallback: '',
    help: 'host-or-CIDR:port entries that callbacks and downloads may reach although they are not public; http:// in front allows plain HTTP. For tests and private networks.',
  },
  EGRESS_DENY: {
    kind: 'list',
    fallback: '',
    help: 'Addresses, CIDRs and names (with all names below them) that callbacks, downloads and images never reach although they are public: your own ranges. Wins over EGRESS_ALLOW.',
  },
  TEXT_IMAGES: {
    kind: 'choice',
    fallback: 'pass',
    choices: ['pass', 'inline'],
    help: 'Images of text requests that are given by address: handed to the upstream, which fetches them, or fetched here and sent inside the request. In both cases the addresses are subject to EGRESS_ALLOW and EGRESS_DENY.',
  },
  EGRESS_PORTS: {
    kind: 'list',
    fallback: '443',
    help: 'Ports of public addresses that callbacks, downloads and images may use.',
  },
  WORKER_QUEUES: {
    kind: 'list',
    fallback: 'media,generation,waiting,archiving,callbacks,maintenance',
    help: 'Which task queues a worker serves.',
  },
  WORKER_BUILD_ID: {
    kind: 'text',
    fallback: '',
    help: 'Build of this release for the worker versioning of Temporal, e.g. the tag of the image; 1 to 63 letters, digits and . _ -. A worker with one gets no work until its version is made current (docs/operations/backup-and-upgrade.md). Empty: no versioning.',
  },
  ACTIVITY_POLLS: {
    kind: 'integer',
    fallback: '1',
    minimum: 1,
    maximum: 100,
    help: 'Concurrent polls for activities of a worker, or an api, on each of its queues. More hand over faster where Temporal is far away, and cost more at a restart (docs/operations/temporal.md).',
  },
  WORKFLOW_POLLS: {
    kind: 'integer',
    fallback: '10',
    minimum: 2,
    maximum: 100,
    help: 'The same for steps of workflows, on the queues media and callbacks.',
  },
  ENGINE_THREADS: {
    kind: 'integer',
    fallback: '2',
    minimum: 1,
    maximum: 64,
    help: 'Threads of the embedded engines in a worker: how many generations it renders at once.',
  },
  MEDIA_SANDBOX: {
    kind: 'choice',
    fallback: 'auto',
    choices: ['auto', 'required'],
    help: 'Whether api and worker start where the processes that read media of others cannot be isolated in full (docs/operations/secure.md); auto: with what the machine allows, which the log and darkroom_media_sandbox show.',
  },
  SCRATCH_DIR: {
    kind: 'text',
    fallback: '',
    help: 'Where a worker stores the files of running work; default: the directory for temporary files.',
  },
  DRAIN_SECONDS: {
    kind: 'integer',
    fallback: '0',
    minimum: 0,
    maximum: 600,
    help: 'How long the api still accepts requests after SIGTERM while /readyz answers 503: longer than a load balancer takes to see that, e.g. 5 to 10. Comes before SHUTDOWN_GRACE_SECONDS.',
  },
  HANG_SECONDS: {
    kind: 'integer',
    fallback: '20',
    minimum: 0,
    maximum: 3600,
    help: 'How long the event loop of an api or a worker that has started may be blocked before the process logs where and ends with exit code 86, to be restarted; 0: no limit.',
  },
  CLOCK_SKEW_SECONDS: {
    kind: 'integer',
    fallback: '10',
    minimum: 0,
    maximum: 3600,
    help: 'How far the clock of an api or a worker may differ from that of PostgreSQL. Beyond that the process logs it and is not ready, and a worker takes no work, until the difference is at most half of this; 0: no limit.',
  },
  SHUTDOWN_GRACE_SECONDS: {
    kind: 'integer',
    fallback: '8',
    minimum: 1,
    maximum: 600,
    help: 'How long a process finishes its work after SIGTERM.',
  },
  UPSTREAM_GRACE_SECONDS: {
    kind: 'integer',
    fallback: '900',
    minimum: 0,
    maximum: 86_400,
    help: 'How long a worker waits after SIGTERM for upstreams that answer a submit only with its result, and an api for answers of text calls in the background and in batches, because work that is cut off is paid for and lost; everything else is handed back after SHUTDOWN_GRACE_SECONDS. Set it to as long as the slowest of these upstreams takes, and let whatever stops the process wait longer (terminationGracePeriodSeconds, stop_grace_period).',
  },
  LOG_LEVEL: {
    kind: 'choice',
    fallback: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    help: 'Minimum log level.',
  },
  LOG_FORMAT: {
    kind: 'choice',
    fallback: 'json',
    choices: ['json', 'pretty'],
    help: 'json for machines, pretty for people.',
  },
  LOG_REQUESTS: {
    kind: 'boolean',
    fallback: 'false',
    help: 'Whether the api logs each request at level info when its answer has ended: method, route, status, duration, size, request id, account, key and client address. Never a path, a query, a header or a body.',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    kind: 'text',
    fallback: '',
    help: 'A collector that takes OTLP by HTTP, without the path, e.g. http://127.0.0.1:4318. Empty: no traces.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    kind: 'secret',
    fallback: '',
    help: 'Headers for the collector: name=value, comma-separated, values percent-encoded.',
  },
  TRACE_RATIO: {
    kind: 'text',
    fallback: '1',
    help: 'Which part of all tasks and requests is traced, 0 to 1. A task is traced by all processes or by none.',
  },
  NODE_ENV: {
    kind: 'text',
    fallback: '',
    help: '`production`, as the container images have it, rejects the development secrets. So does a HOST other than loopback.',
  },
  DARKROOM_EMBEDDED: {
    kind: 'boolean',
    fallback: 'false',
    help: 'Set by `npm start` for the processes it runs, so that messages name its commands.',
  },
  DATA_DIR: { kind: 'text', fallback: '', help: 'Data directory of `npm start`; default: data below the project.' },
  TEMPORAL_PORT: {
    kind: 'integer',
    fallback: '7233',
    minimum: 0,
    maximum: 65535,
    help: 'Port of the Temporal server that `npm start` runs.',
  },
  TEMPORAL_UI_PORT: {
    kind: 'integer',
    fallback: '8233',
    minimum: 0,
    maximum: 65535,
    help: 'Port of the Temporal Web UI that `npm start` runs.',
  },
  TEMPORAL_CLI_PATH: {
    kind: 'text',
    fallback: '',
    help: 'A `temporal` executable for the Temporal server that `npm start` runs.',
  },
  POSTGRES_PORT: {
    kind: 'integer',
    fallback: '0',
    minimum: 0,
    maximum: 65535,
    help: 'Port of the PostgreSQL that `npm start` runs; 0 picks a free one.',
  },
} as const satisfies Record<string, Variable>;

/** The name of a variable that the program reads. */
export type VariableName = keyof typeof VARIABLES;

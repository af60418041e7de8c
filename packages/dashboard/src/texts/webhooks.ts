/** The texts of the webhooks page. */
import type { Attempt, DeliveryState, TestDelivery } from '../api/webhooks.ts';
import { counted } from './counted.ts';

type Failure = Pick<TestDelivery, 'status' | 'errorClass'>;

const errorClasses = {
  tls: 'TLS error',
  timeout: 'timed out after 10 s',
  unreachable: 'unreachable',
} as const;

const deliveryStates: Readonly<Record<DeliveryState, string>> = {
  waiting: 'waiting for the task',
  pending: 'pending',
  delivered: 'delivered',
  exhausted: 'failed',
  stopped: 'stopped by the endpoint',
};

/** What to do about a failed delivery. */
function advice({ status, errorClass }: Failure): string {
  if (errorClass === 'tls') {
    return 'The certificate was not accepted. Check that it matches the host name, has not expired, is sent with its full chain and was issued by a public authority.';
  }
  if (errorClass === 'timeout') {
    return 'Respond first and do the work afterwards: the whole exchange must finish within 10 seconds.';
  }
  if (errorClass === 'unreachable') {
    return 'Check that the name resolves, the server is listening and the firewall allows the connection. A server on your own machine or in a private network also needs an entry with its host and port when Darkroom starts: EGRESS_ALLOW=http://127.0.0.1:3000 npm start';
  }
  if (status >= 300 && status < 400) return 'Redirects are not followed. Enter the URL that it redirects to.';
  if (status === 401 || status === 403) {
    return 'The endpoint denied access. If it verifies signatures, check that it has this signing secret and reads the raw body, as in the code below. If it requires a login, exempt this path.';
  }
  if (status === 404 || status === 405) return 'Check that the path is correct and accepts POST.';
  if (status === 410) return 'A 410 response stops the delivery of a callback at once. Respond with 2xx to accept it.';
  if (status === 413) return 'The endpoint rejects bodies of this size. Allow at least 100 kB.';
  if (status === 429) return 'The endpoint is rate limiting deliveries. Raise its limit.';
  if (status >= 500) return 'The endpoint failed. Check its logs.';
  return 'Only a 2xx response counts as delivered.';
}

const response = ({
  status,
  errorClass,
}: {
  readonly status: number | null;
  readonly errorClass?: Attempt['errorClass'];
}) => {
  if (errorClass !== null && errorClass !== undefined) return errorClasses[errorClass];
  return status === null ? 'no response yet' : `HTTP ${status}`;
};

export const texts = {
  title: 'Webhooks',
  about:
    'Get notified when a task completes: manage the signing secret, send test deliveries and inspect deliveries. Darkroom posts the task to the URL in its callback.url.',
  failing: {
    title: 'Deliveries are failing',
    of: (origin: string, exhausted: number) =>
      `${origin} is not accepting deliveries, and ${counted(exhausted, 'callback has', 'callbacks have')} run out of attempts.`,
    last: (failure: Failure) => `Last response: ${response(failure)}.`,
    since: 'Failing since',
    reduced: 'Because it has been failing for a long time, each callback gets a single attempt until one is delivered.',
    remedy:
      'Fix the endpoint and send it a test delivery. After one successful delivery it is treated as healthy again.',
    showAttempts: 'Show attempts',
    showAttemptsOf: (origin: string) => `Show attempts at ${origin}`,
    unknown: 'Your key cannot read endpoint health (scope billing:read).',
  },
  secret: {
    title: 'Signing secret',
    need: 'manage the signing secret or send test deliveries',
    about:
      'Darkroom signs every delivery with this secret, so that your endpoint can verify where it comes from. Keep it private.',
    none: 'There is no signing secret. Deliveries are not signed, and your endpoint cannot verify where they come from.',
    raw: 'Raw secret',
    rawHint: 'For your own code. Use its UTF-8 bytes as the HMAC key.',
    whsec: 'Standard Webhooks secret',
    whsecHint: 'The same secret, encoded for Standard Webhooks libraries.',
    masked: 'hidden',
    show: 'Reveal secret',
    hide: 'Hide secret',
    copyRaw: 'Copy the raw secret',
    copyWhsec: 'Copy the Standard Webhooks secret',
    created: 'Created',
    overlap: (until: string) =>
      `Deliveries are also signed with the previous secret until ${until}. Update your endpoints before then.`,
    create: 'Create secret',
    rotate: 'Rotate',
    setOwn: 'Set your own',
    remove: 'Delete',
    isCreated: 'Deliveries are now signed.',
    isRotated: 'Secret rotated. Deliveries are also signed with the old secret for 24 hours.',
    isRemoved: 'Secret deleted. Deliveries are no longer signed.',
  },
  rotation: {
    title: 'Rotate the signing secret',
    about:
      'This creates a new secret. For 24 hours, deliveries are signed with the old one too, so that your endpoints keep working while you update them.',
    again: (until: string) =>
      `The previous secret is still in use until ${until}. If you continue, it stops working immediately: only the current secret overlaps with the new one.`,
    submit: 'Rotate secret',
  },
  own: {
    title: 'Set your own signing secret',
    about: 'For 24 hours, deliveries are signed with the previous secret too, if there is one.',
    label: 'Secret',
    hint: '16 to 256 characters that are hard to guess. Their UTF-8 bytes are the HMAC key.',
    tooShort: (characters: number) => `Enter at least 16 characters. You entered ${characters}.`,
    tooLong: (characters: number) => `Enter at most 256 characters. You entered ${characters}.`,
    submit: 'Set secret',
    toggle: 'Show or hide the secret',
  },
  removal: {
    title: 'Delete the signing secret?',
    about:
      'Deliveries are no longer signed, effective immediately and without an overlap. Endpoints that verify signatures reject them until you set a new secret.',
    submit: 'Delete secret',
  },
  test: {
    title: 'Test delivery',
    about:
      'Sends an example of a completed task to your endpoint, signed like a real delivery. It is free and does not create a task.',
    url: 'Endpoint URL',
    urlPlaceholder: 'https://example.com/darkroom',
    needsUrl: 'Enter a URL that starts with https://.',
    send: 'Send test delivery',
    delivered: 'Delivered',
    failed: 'Not delivered',
    /** A time-out already states how long it took. */
    outcome: (result: TestDelivery, took: string) =>
      result.errorClass === 'timeout' ? response(result) : `${response(result)}, after ${took}`,
    signed: 'It was signed.',
    unsigned: 'It was not signed, because there is no signing secret.',
    advice,
  },
  attempts: {
    title: 'Deliveries',
    need: 'read deliveries',
    about: 'Delivery attempts of all tasks, newest first. Test deliveries are not listed.',
    list: 'Delivery attempts',
    state: 'Status',
    anyState: 'All statuses',
    endpoint: 'Endpoint',
    anyEndpoint: 'All endpoints',
    refresh: 'Refresh',
    when: 'Time',
    callback: 'Endpoint and task',
    attempt: 'Attempt',
    response: 'Response',
    took: 'Duration',
    erased: 'The URL was erased.',
    none: 'No deliveries yet',
    noneHint: 'Create a task with "callback": {"url": "https://…"}, and its delivery attempts appear here.',
    noMatch: 'No attempts match',
    noMatchHint: 'Select another status or endpoint.',
    noneSoFar: 'No attempts match so far. Older attempts have not been searched yet.',
    older: 'Show older attempts',
    shown: (attempts: number) => `${counted(attempts, 'attempt', 'attempts')} shown`,
    states: deliveryStates,
    outcome: response,
  },
  code: {
    title: 'Verify deliveries',
    about: 'A complete endpoint that accepts only deliveries signed by Darkroom. Set the raw secret and run it.',
    language: 'Programming language',
    languages: { javascript: 'JavaScript', python: 'Python', go: 'Go', php: 'PHP' },
    label: (language: string) => `An endpoint in ${language}`,
    rules: [
      'Verify the raw body, byte for byte. Most frameworks parse it first, and serializing it again changes the bytes.',
      'Compare signatures in constant time, as the code does.',
      'Reject deliveries that are more than five minutes old, to prevent replay attacks.',
      'Respond with 2xx within 10 seconds and do the work afterwards. The same task can be delivered more than once.',
    ],
    headersTitle: 'Headers',
    headersAbout: 'Every signed delivery carries two forms of the same signature. Verify either one.',
    header: 'Header',
    meaning: 'Description',
    ownMeanings: {
      timestamp: 'Unix time of this attempt, in seconds.',
      signature: 'HMAC-SHA256 in hexadecimal, of the timestamp, a dot and the raw body.',
      previous: 'The same with the previous secret, for 24 hours after a rotation.',
    },
    standardMeanings: {
      id: 'The same for every attempt of a task.',
      timestamp: 'Unix time of this attempt, in seconds.',
      signature:
        '“v1,” and HMAC-SHA256 in base64, of the ID, the timestamp and the raw body, joined by dots. Two signatures after a rotation.',
    },
    standard:
      'The webhook- headers follow Standard Webhooks. Its libraries accept the whsec_… form of the secret and verify them.',
    standardLink: 'Standard Webhooks libraries',
  },
} as const;

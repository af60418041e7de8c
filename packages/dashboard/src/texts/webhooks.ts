/** The texts of the webhooks page. */
import type { Attempt, DeliveryState, TestDelivery } from '../api/webhooks.ts';

const count = (amount: number, one: string, several: string): string =>
  amount === 1 ? `1 ${one}` : `${amount.toLocaleString('en')} ${several}`;

type Failure = Pick<TestDelivery, 'status' | 'errorClass'>;

const problems = {
  tls: 'TLS failed',
  timeout: 'no answer within 10 s',
  unreachable: 'cannot be reached',
} as const;

const deliveryStates: Readonly<Record<DeliveryState, string>> = {
  waiting: 'waits for the task',
  pending: 'tried again later',
  delivered: 'delivered',
  exhausted: 'given up',
  stopped: 'stopped by the receiver',
};

/** What to do about a failed delivery. */
function advice({ status, errorClass }: Failure): string {
  if (errorClass === 'tls') {
    return 'Its certificate was not accepted. Look whether it is for this name, still valid, sent with its whole chain, and from a public authority.';
  }
  if (errorClass === 'timeout') {
    return 'Answer first and work afterwards: the whole exchange has 10 seconds.';
  }
  if (errorClass === 'unreachable') {
    return 'Look whether the name resolves, the server listens and the firewall lets it through. Addresses that are not public are reached only where the operator of this Darkroom allows them.';
  }
  if (status >= 300 && status < 400) return 'Redirects are not followed: give the address that it leads to.';
  if (status === 401 || status === 403) {
    return 'The receiver refused it. If it verifies signatures: look whether it has this signing key and reads the body raw; the code below does. If it asks for a login, let this path through.';
  }
  if (status === 404 || status === 405) return 'Look whether the path is right and takes POST.';
  if (status === 410) return 'A reply of 410 stops the delivery of a callback at once. Answer 2xx to take it.';
  if (status === 413) return 'The receiver takes no body of this size: let it take some 100 kB at least.';
  if (status === 429) return 'The receiver takes no more at the moment: let it take more.';
  if (status >= 500) return 'The receiver itself failed: its own log tells why.';
  return 'Only an answer of 2xx counts as delivered.';
}

const answer = ({
  status,
  errorClass,
}: {
  readonly status: number | null;
  readonly errorClass?: Attempt['errorClass'];
}) => {
  if (errorClass !== null && errorClass !== undefined) return problems[errorClass];
  return status === null ? 'no answer yet' : `HTTP ${status}`;
};

export const texts = {
  title: 'Webhooks',
  about: 'Your server is told when a task is over: the task is posted to the address in its callback.url.',
  failing: {
    title: 'Callbacks do not arrive',
    told: (origin: string, givenUp: number) =>
      `${origin} takes none: ${count(givenUp, 'callback was', 'callbacks were')} given up.`,
    last: (failure: Failure) => `The last answer: ${answer(failure)}.`,
    since: 'It fails since',
    lastFailed: 'last',
    reduced: 'It has failed for so long that each callback gets one attempt only, until one arrives.',
    remedy: 'Mend the receiver and send it a test callback: as soon as one arrives, it counts as working again.',
    showAttempts: 'Show its attempts',
    showAttemptsOf: (origin: string) => `Show the attempts at ${origin}`,
    unknown: 'Whether receivers fail is not shown here: your key lacks the scope billing:read.',
  },
  key: {
    title: 'Signing key',
    need: 'see or change the signing key, or send test callbacks',
    about: 'Every callback is signed with it, so that your server can tell ours from anybody else’s. Keep it secret.',
    none: 'There is no signing key: callbacks are not signed, and your server cannot tell who sent them.',
    raw: 'As text',
    rawHint: 'For code of your own: its UTF-8 bytes are the key.',
    whsec: 'For Standard Webhooks libraries',
    whsecHint: 'The same key in their spelling.',
    masked: 'hidden',
    show: 'Show the key',
    hide: 'Hide the key',
    copyRaw: 'Copy the key as text',
    copyWhsec: 'Copy the key for libraries',
    made: 'In use since',
    overlap: (until: string) =>
      `The key before this one signs too, until ${until}. Give your receivers the new key by then.`,
    make: 'Make a key',
    rotate: 'Rotate',
    setOwn: 'Set my own',
    remove: 'Delete',
    isMade: 'Callbacks are signed from now on.',
    isRotated: 'The new key signs from now on, and the old one beside it for 24 hours.',
    isRemoved: 'The key is deleted. Callbacks are not signed any more.',
  },
  rotation: {
    title: 'Rotate the signing key',
    about:
      'A new key is made. For 24 hours the old one signs beside it, so that your receivers go on working while you give them the new one.',
    again: (until: string) =>
      `The key before is still signing, until ${until}. It stops at once if you go on: only the present key overlaps with the new one.`,
    submit: 'Make a new key',
  },
  own: {
    title: 'Set a signing key of your own',
    about: 'The key before it, if there is one, signs beside it for 24 hours.',
    label: 'Key',
    hint: '16 to 256 characters that nobody can guess. Its UTF-8 bytes are the key.',
    tooShort: (characters: number) => `At least 16 characters: these are ${characters}.`,
    tooLong: (characters: number) => `At most 256 characters: these are ${characters}.`,
    submit: 'Use this key',
    toggle: 'Show or hide what is typed',
  },
  removal: {
    title: 'Delete the signing key?',
    about:
      'Callbacks are not signed any more, at once, and there is no overlap. Receivers that verify signatures refuse them until they have a new key.',
    submit: 'Delete the key',
  },
  test: {
    title: 'Test delivery',
    about:
      'Sends a finished example task to your receiver, signed like a real callback. It costs nothing and makes no task.',
    url: 'Address of the receiver',
    urlPlaceholder: 'https://example.com/darkroom',
    needsUrl: 'An address that begins with https://',
    send: 'Send a test',
    delivered: 'It arrived',
    failed: 'It did not arrive',
    /** A time-out already states how long it took. */
    outcome: (result: TestDelivery, took: string) =>
      result.errorClass === 'timeout' ? answer(result) : `${answer(result)}, after ${took}`,
    signed: 'It was signed.',
    unsigned: 'It was not signed: there is no signing key.',
    advice,
  },
  attempts: {
    title: 'Recent attempts',
    need: 'see attempts to deliver callbacks',
    about: 'Over all tasks, newest first. Test deliveries are not among them.',
    list: 'Attempts to deliver callbacks',
    state: 'Delivery',
    anyState: 'Any',
    receiver: 'Receiver',
    anyReceiver: 'Any',
    refresh: 'Look again',
    when: 'When',
    callback: 'Callback',
    attempt: 'Attempt',
    answer: 'Answer',
    took: 'Took',
    erased: 'The address was erased.',
    none: 'No callback was attempted yet',
    noneHint: 'Create a task with "callback": {"url": "https://…"} and its delivery shows up here.',
    noMatch: 'No attempt matches',
    noMatchHint: 'Choose another delivery or receiver.',
    noneSoFar: 'None of those looked at so far matches. There are older ones.',
    older: 'Older ones',
    shown: (attempts: number) => `${count(attempts, 'attempt', 'attempts')} shown`,
    states: deliveryStates,
    told: answer,
  },
  code: {
    title: 'Verify what arrives',
    about: 'A whole receiver that takes only what Darkroom signed. Give it the key as text and run it.',
    language: 'Language of the code',
    languages: { javascript: 'JavaScript', python: 'Python', go: 'Go', php: 'PHP' },
    label: (language: string) => `A receiver in ${language}`,
    rules: [
      'Verify the raw body, byte for byte as it came. Most frameworks parse it first: parsed and written anew, it is another one.',
      'Compare in constant time, as the code does.',
      'Refuse what is more than five minutes old, so that nobody can send again what was recorded.',
      'Answer 2xx within 10 seconds and work afterwards. The same task can come twice.',
    ],
    headersTitle: 'The headers',
    headersAbout: 'Every signed delivery carries two forms of the same signature. Verify either.',
    header: 'Header',
    meaning: 'What it is',
    ownMeanings: {
      timestamp: 'Unix seconds of this attempt.',
      signature: 'HMAC-SHA256 in hexadecimal digits, over the timestamp, a dot and the raw body.',
      previous: 'The same with the key before, for 24 hours after a rotation.',
    },
    standardMeanings: {
      id: 'The same on every attempt for a task.',
      timestamp: 'Unix seconds of this attempt.',
      signature:
        '“v1,” and HMAC-SHA256 in base64, over id, timestamp and raw body with dots between; two of them after a rotation.',
    },
    standard:
      'The headers that begin with webhook- are those of Standard Webhooks: a library for it takes the key in the spelling whsec_… and verifies them.',
    standardLink: 'Libraries of Standard Webhooks',
  },
} as const;

/** The content of the pages: an account with some history, all of it created through the HTTP API. */
import { connect } from '../gallery/api.ts';
import type { Installation } from '../gallery/installation.ts';
import type { Receiver } from './receiver.ts';

/** The subjects of pages that show a single item. */
export interface Life {
  /** A video that succeeded, with a delivered callback. */
  readonly taskId: string;
  readonly accountId: string;
}

const PROMPTS = [
  'A lighthouse on a cliff at dusk, the sea calm',
  'Snow over a quiet village, one window lit',
  'A red kite above green hills on a windy day',
  'Three boats in a harbour in the first light',
  'A desert under a sky full of stars',
  'An orchard in blossom, seen from far above',
] as const;

/** For one account, after about a minute. */
export async function live({ url, key, adminUrl, adminToken }: Installation, receiver: Receiver): Promise<Life> {
  const api = connect(url, key);
  const post = (path: string, body: unknown, base = url, token = key) => send('POST', base + path, token, body);
  await post('/account/webhook-key/rotate', {});
  const video = await post('/tasks', {
    model: 'darkroom/motion',
    input: { prompt: 'Waves roll onto a beach while the sun sets', duration: 4 },
    callback: { url: `${receiver.url}/darkroom` },
    metadata: { order: '1041' },
  });
  await Promise.all(
    PROMPTS.map((prompt, index) =>
      post('/tasks', {
        model: 'darkroom/scene',
        input: { prompt },
        callback: { url: `${receiver.url}/${index === 0 ? 'busy' : 'darkroom'}` },
        metadata: { order: String(1042 + index) },
      }),
    ),
  );
  await api.run('darkroom/speech', { text: 'Welcome. What you asked for is ready.', voice: 'slt' });
  await api.run('darkroom/song', {
    prompt: 'Lo-fi hip hop, mellow piano',
    lyrics: '[Verse]\nRain on the window, coffee gone cold',
  });
  const poster = await api.run('darkroom/poster', {
    prompt: '"OPEN STUDIO" "Saturday, ten to four", hills, teal and orange',
  });
  await api.run('darkroom/edit', { prompt: 'Golden hour', image_urls: [`${receiver.url}/no-picture`] });
  await ended(url, key, video);
  const stored = (await send('GET', `${url}/storages?taskId=${poster.taskId}`, key)) as unknown as {
    items: readonly { id: string }[];
  };
  await post(
    '/storages/promote',
    stored.items.map(({ id }) => id),
  );
  await post('/account/keys', {
    name: 'Web shop',
    scopes: ['tasks:read', 'tasks:write'],
    spendCaps: { day: '5', total: '100' },
  });
  await post('/account/keys', { name: 'Accounting', scopes: ['billing:read'] });
  await post('/account/keys', {
    name: 'Nightly images',
    scopes: ['tasks:read', 'tasks:write'],
    models: ['darkroom/scene'],
  });
  await post('/account/webhook-key/test', { url: `${receiver.url}/darkroom` });
  for (const name of ['Studio North', 'Paper Boats Ltd', 'Late Edition']) {
    await post('/admin/accounts', { name }, adminUrl, adminToken);
  }
  const { accountId } = await send('GET', `${url}/account`, key);
  return { taskId: String(video.taskId), accountId: String(accountId) };
}

type Answer = Readonly<Record<string, unknown>>;

async function send(method: string, address: string, token: string, body?: unknown): Promise<Answer> {
  const response = await fetch(address, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${new URL(address).pathname}: ${response.status} ${text.slice(0, 300)}`);
  return (JSON.parse(text) as { data: Answer }).data;
}

async function ended(url: string, key: string, { taskId }: Answer): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/tasks/${String(taskId)}`, {
      headers: { Authorization: `Bearer ${key}`, Prefer: 'wait=20' },
    });
    const { data } = (await response.json()) as { data: Answer };
    if (data['status'] === 'success') return;
    if (data['status'] === 'fail') throw new Error(`the video failed: ${JSON.stringify(data)}`);
  }
}

/** The proxy of a campaign: each fault affects those who use it, and is gone when it is healed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { openLink } from './proxy.ts';
import type { Link } from './proxy.ts';

describe('a link', () => {
  let echo: Server;
  let link: Link;
  before(async () => {
    echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    link = await openLink((echo.address() as AddressInfo).port);
  });
  after(async () => {
    await link?.close();
    echo?.close();
  });

  async function open(): Promise<{ socket: Socket; text: () => string; isOver: () => boolean }> {
    const socket = connect(link.port, '127.0.0.1');
    let text = '';
    let isOver = false;
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    socket.on('error', () => (isOver = true)).on('close', () => (isOver = true));
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined);
    return { socket, text: () => text, isOver: () => isOver };
  }

  async function assertPasses(): Promise<void> {
    const { socket, text } = await open();
    socket.write('hello');
    await waitFor('the echo comes', () => text() === 'hello');
    socket.end();
    await once(socket, 'close');
  }

  it('passes everything on, and an end in order', () => assertPasses());

  it('resets those who are there and those who come', async () => {
    const early = await open();
    link.set('reset');
    await waitFor('the early one is reset', early.isOver);
    const late = await open();
    await waitFor('the late one is reset', late.isOver);

    assert.ok(link.set('pass').connections >= 2);
    await assertPasses();
  });

  it('refuses connections, and listens on the same port again', async () => {
    link.set('refuse');
    const rejected = await open();
    await waitFor('it is refused', rejected.isOver);

    link.set('pass');
    await waitFor('it listens again', async () => !(await open()).isOver());
    await assertPasses();
  });

  it('swallows what is sent into a half-open connection, whose ends learn later that it is dead', async () => {
    const client = await open();
    link.set('half-open');
    client.socket.write('lost');
    await waitFor('the bytes are swallowed', () => link.set('half-open').bytes > 0);
    assert.equal(client.text(), '');
    assert.equal(client.isOver(), false);

    link.set('pass');
    client.socket.write('more');
    await waitFor('it is reset', client.isOver);
    await assertPasses();
  });

  it('delays what passes, and loses nothing of it', async () => {
    link.set('latency');
    await assertPasses();
    assert.equal(link.set('bandwidth').bytes, 10);
    await assertPasses();
    assert.equal(link.set('pass').bytes, 10);
  });

  it('answers over HTTP that there is no space left', async () => {
    link.set('full');
    const answer = await fetch(`http://127.0.0.1:${link.port}/bucket/key`, { method: 'PUT', body: 'x' });

    assert.equal(answer.status, 507);
    assert.match(await answer.text(), /no space left/);
    link.set('pass');
    await assertPasses();
  });

  it('closes although a client waits silently, or has gone, where there is no space', async () => {
    const own = await openLink((echo.address() as AddressInfo).port);
    own.set('full');
    const silent = connect(own.port, '127.0.0.1');
    const gone = connect(own.port, '127.0.0.1');
    silent.on('error', () => undefined);
    await Promise.all([once(silent, 'connect'), once(gone, 'connect')]);
    gone.end().resume();
    await once(gone, 'close');

    await own.close();
    silent.destroy();
  });
});

/** Promises about the lifetime of media children: they end with their parent, and leave nothing running. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import sharp from 'sharp';
import { decodeImage, decodeAudio } from '../src/decode.ts';
import { openVideo, writeAudio } from '../src/encode.ts';
import { MediaChild, endMediaChildren } from '../src/media-child.ts';
import { UndecodableMediaError } from '../src/undecodable-media-error.ts';
import { PACKAGE_DIRECTORY, childModulePath } from '../src/program-files.ts';
import { compiled } from './compiled.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { CAN_SEE_PROCESSES, waitForChildren } from '@darkroom/testing/media-processes';
import { plain, tone } from './samples.ts';

const DECODE = { module: childModulePath('decode-child'), isUntrusted: true, maxMemoryMb: 1024 } as const;

describe('a media child', { skip: !CAN_SEE_PROCESSES }, () => {
  let directory: string;
  /** A pipe without a writer: reading it never ends. */
  let endless: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'media-child-'));
    endless = path.join(directory, 'endless');
    execFileSync('mkfifo', [endless]);
  });
  after(() => rm(directory, { recursive: true }));

  it('ends when the signal fires, and the call rejects with AbortError', async () => {
    for (const decode of [
      (signal: AbortSignal) => decodeImage(endless, { maxEdge: 10 }, signal),
      (signal: AbortSignal) => decodeAudio(endless, { sampleRate: 48_000, maxSeconds: 1 }, signal),
    ]) {
      const controller = new AbortController();
      const decoding = assert.rejects(decode(controller.signal), { name: 'AbortError' });
      await waitForChildren(1);
      controller.abort();
      await decoding;
      await waitForChildren(0);
    }
    await assert.rejects(decodeImage(endless, { maxEdge: 10 }, AbortSignal.abort()), { name: 'AbortError' });
  });

  it('is ended in time when it does not read its input', async () => {
    const child = await MediaChild.start({ ...DECODE, module: compiled('test/deaf-child.ts'), isUntrusted: false }, {});
    try {
      assert.equal(await child.sendBytes(Buffer.alloc(16 * 1024 * 1024), 2_000), false);
      await assert.rejects(child.receive(), /takes longer than 2 s/);
    } finally {
      await child.end();
    }
    await waitForChildren(0);
  });

  it('is not ended for silence while it gets no processor time', async () => {
    const child = await MediaChild.start({ ...DECODE, module: compiled('test/late-child.ts'), isUntrusted: false }, {});
    try {
      assert.deepEqual(await child.receiveJson(4_000), { isLate: true });
    } finally {
      await child.end();
    }
  });

  it('ends when the thread that started it is terminated', async () => {
    const thread = new Worker(compiled('test/encoding-thread.ts'), { workerData: directory });
    await once(thread, 'message');
    await waitForChildren(1);
    await thread.terminate();

    await waitForChildren(0);
  });

  it('ends when the process that started it is killed', async () => {
    const program = `
      const { decodeImage } = await import(${JSON.stringify(compiled('src/decode.ts'))});
      const { waitForChildren } = await import('@darkroom/testing/media-processes');
      decodeImage(${JSON.stringify(endless)}, { maxEdge: 10 }).catch(() => {});
      const [pid] = await waitForChildren(1);
      process.stdout.write(String(pid), () => process.kill(process.pid, 'SIGKILL'));`;
    const parent = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: PACKAGE_DIRECTORY,
      encoding: 'utf8',
    });
    assert.equal(parent.signal, 'SIGKILL', parent.stderr);
    const pid = Number(parent.stdout);
    assert.ok(pid > 0);

    await waitFor('the child has ended', async () => !(await isRunning(pid)));
  });

  it('ends when a video or audio encoding is aborted', async () => {
    const video = await openVideo({
      path: path.join(directory, 'a.mp4'),
      width: 64,
      height: 64,
      fps: 24,
      quality: 'draft',
    });
    await video.write(plain(64, 64, [1, 2, 3]));
    await waitForChildren(1);
    await video.abort();
    await waitForChildren(0);

    const controller = new AbortController();
    async function* endlessly(): AsyncGenerator<readonly Float32Array[]> {
      for (;;) {
        yield [tone(440, 48_000, 1)];
        controller.abort();
      }
    }
    const audio = {
      path: path.join(directory, 'a.wav'),
      format: 'wav',
      inputRate: 48_000,
      sampleRate: 48_000,
    } as const;
    const writing = writeAudio({ ...audio, channels: 1, samples: endlessly() }, controller.signal);
    await assert.rejects(writing, { name: 'AbortError' });
    await waitForChildren(0);
  });

  it("ends with all others of its thread, and leaves no entry in the system's table", async () => {
    const decoding = Array.from({ length: 2 }, () => assert.rejects(decodeImage(endless, { maxEdge: 10 })));
    const pids = await waitForChildren(2);
    await endMediaChildren();

    assert.deepEqual(
      pids.filter((pid) => existsSync(`/proc/${pid}`)),
      [],
    );
    await Promise.all(decoding);
  });

  it('has no environment variables of ours, and no network where Linux can isolate it', async () => {
    const child = await MediaChild.start(
      { ...DECODE, readable: [endless] },
      { decode: 'image', path: endless, maxEdge: 10 },
    );
    try {
      const [pid] = await waitForChildren(1);
      assert.equal(await readFile(`/proc/${pid}/environ`, 'utf8'), '');
      assert.equal(os.getPriority(pid), Math.max(10, os.getPriority()), 'it lets everything else go first');
      const canUnshare = spawnSync('/usr/bin/unshare', ['-rn', '/usr/bin/setpriv', '--no-new-privs', '/bin/true']);
      if (canUnshare.status === 0) {
        const status = await readFile(`/proc/${pid}/status`, 'utf8');
        assert.match(status, /^CapEff:\s0+$/m);
        assert.match(status, /^NoNewPrivs:\s1$/m);
        const interfaces = (await readFile(`/proc/${pid}/net/dev`, 'utf8')).match(/^\s*\w+(?=:)/gm) ?? [];
        assert.deepEqual(
          interfaces.map((name) => name.trim()),
          ['lo'],
        );
      }
    } finally {
      await child.end();
    }
    await waitForChildren(0);
  });

  it("is ended when it exceeds its memory limit, which is the file's fault", async () => {
    const file = path.join(directory, 'large.png');
    await sharp({ create: { width: 6000, height: 6000, channels: 3, background: 'teal' } })
      .png()
      .toFile(file);
    const request = { decode: 'image', path: file, maxEdge: 6000 };
    const child = await MediaChild.start({ ...DECODE, maxMemoryMb: 150, readable: [file] }, request);

    // It may have reported the size before.
    const receiving = child.receiveJson().then(() => child.receiveBytes());
    await assert.rejects(receiving, (error) => {
      assert.ok(error instanceof UndecodableMediaError, String(error));
      assert.match(error.message, /150 MB of memory/);
      return true;
    });
    await child.end();
    // The same with the default limit.
    assert.equal((await decodeImage(file, { maxEdge: 6000 })).width, 6000);
  });

  it("is ended when it sends nothing for too long, which is the file's fault", async () => {
    const child = await MediaChild.start(
      { ...DECODE, readable: [endless] },
      { decode: 'image', path: endless, maxEdge: 10 },
    );

    await assert.rejects(child.receive(1000), (error) => {
      assert.ok(error instanceof UndecodableMediaError, String(error));
      assert.match(error.message, /longer than 1 s/);
      return true;
    });
    await child.end();
    await waitForChildren(0);
  });

  it('fails with an internal error, not with a fault of the file, when it does not start', async () => {
    const child = await MediaChild.start({ ...DECODE, module: compiled('src/no-such-child.ts') }, {});
    await assert.rejects(child.receive(), (error) => {
      assert.ok(!(error instanceof UndecodableMediaError));
      return true;
    });
    await child.end();
  });

  it("reports a crash of a decoder as the file's fault", async () => {
    const module = path.join(directory, 'crash.mjs');
    await writeFile(module, "process.kill(process.pid, 'SIGSEGV');");
    const child = await MediaChild.start({ ...DECODE, module }, {});

    await assert.rejects(child.receive(), { name: 'UndecodableMediaError', message: 'crashes its decoder' });
    await child.end();
  });
});

async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/^.*\) Z/s.test(stat);
}

/**
 * deploy/docker/images.lock.json: the base images of our container files, each by the variable that names it there, with its
 * tag and the digest that a release found behind that tag. Dockerfile and docker-compose.yml contain the same as the
 * defaults of those variables, so that every user of them gets exactly these images.
 */

export interface LockedImage {
  /** With its tag. */
  readonly image: string;
  /** `sha256:…`; null until a release fills it in. */
  readonly digest: string | null;
}

export type ImageLock = Readonly<Record<string, LockedImage>>;

export const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The image's reference in a container file. */
export function referenceOf({ image, digest }: LockedImage): string {
  return digest === null ? image : `${image}@${digest}`;
}

/**
 * What is wrong with a lock and the container files.
 *
 * @param files the texts of Dockerfile and docker-compose.yml.
 * @param isRelease whether every image must have its digest.
 * @returns one line for each problem; none if all is well.
 */
export function problemsOf(lock: ImageLock, files: readonly string[], isRelease: boolean): readonly string[] {
  const problems: string[] = [];
  const named = files.flatMap((text) => [...namesIn(text)]);
  for (const [variable, { image, digest }] of Object.entries(lock)) {
    if (digest !== null && !DIGEST.test(digest)) problems.push(`${variable}: ${digest} is no digest`);
    if (digest === null && isRelease) problems.push(`${variable}: ${image} has no digest`);
    if (!named.some(([name]) => name === variable)) problems.push(`${variable}: no container file has it`);
  }
  for (const [variable, reference] of named) {
    const locked = lock[variable];
    if (locked === undefined) problems.push(`${variable}: it is not in the lock`);
    else if (referenceOf(locked) !== reference)
      problems.push(`${variable}: ${reference} where the lock has ${referenceOf(locked)}`);
  }
  return problems;
}

/** The text of a container file, with the references in the lock. */
export function withImages(text: string, lock: ImageLock): string {
  return Object.entries(lock).reduce(
    (changed, [variable, locked]) =>
      changed
        .replaceAll(new RegExp(`(\\$\\{${variable}:-)[^}]+(\\})`, 'g'), `$1${referenceOf(locked)}$2`)
        .replaceAll(new RegExp(`^(ARG ${variable}=)\\S+$`, 'gm'), `$1${referenceOf(locked)}`),
    text,
  );
}

/** Every variable of an image that has a default, with that default. Our own image is built, not pulled. */
function* namesIn(text: string): Generator<readonly [string, string]> {
  for (const [, variable = '', reference = ''] of text.matchAll(/\$\{([A-Z_]+_IMAGE):-([^}]+)\}/g)) {
    if (variable !== 'DARKROOM_IMAGE') yield [variable, reference];
  }
  for (const [, variable = '', reference = ''] of text.matchAll(/^ARG ([A-Z_]+_IMAGE)=(\S+)$/gm)) {
    yield [variable, reference];
  }
}

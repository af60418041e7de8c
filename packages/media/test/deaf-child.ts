/** A media child that never reads its input, like one whose main thread is in an endless loop. */
setInterval(() => {}, 60_000);

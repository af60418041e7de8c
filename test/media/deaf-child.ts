/** A media child that never reads what it is given, as one whose main thread has gone into a loop. */
setInterval(() => {}, 60_000);

<?php
// Receives Darkroom's callbacks and accepts only what Darkroom signed. PHP 8 or newer, no packages.
//   DARKROOM_WEBHOOK_SECRET=… php -S 127.0.0.1:3000 receiver.php
declare(strict_types=1);

const PREFIX = 'X-Darkroom';
const TOLERANCE_SECONDS = 300;

function header_of(string $name): string
{
    return $_SERVER['HTTP_' . strtoupper(str_replace('-', '_', PREFIX . '-' . $name))] ?? '';
}

/** @param string $rawBody the bytes as received: parsing and serializing them again would change them. */
function is_genuine(string $secret, string $rawBody): bool
{
    $timestamp = header_of('Timestamp');
    // Prevents replays of recorded deliveries.
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', $timestamp . '.' . $rawBody, $secret);
    // For a day after a rotation, the previous secret signs too, in its own header.
    return hash_equals($expected, header_of('Signature'))
        || hash_equals($expected, header_of('Signature-Previous'));
}

$secret = (string) getenv('DARKROOM_WEBHOOK_SECRET');
if ($secret === '') {
    http_response_code(500);
    error_log('DARKROOM_WEBHOOK_SECRET is not set');
    exit;
}
$rawBody = (string) file_get_contents('php://input');
if (!is_genuine($secret, $rawBody)) {
    http_response_code(401);
    exit;
}
$task = json_decode($rawBody, true, 64, JSON_THROW_ON_ERROR);
// Respond within 10 seconds and do the work afterwards. The same task can be delivered twice: ignore the second one.
http_response_code(204);
error_log($task['taskId'] . ' ' . $task['status']);

<?php
// Logs 20,000 messages; both ways each message is in the file at once.
$kept = $argv[1] === "kept" ? fopen("error.log", "a") : null;
function write_log($message) {
    global $kept;
    $f = $kept ?? fopen("error.log", "a");
    fwrite($f, $message . "\n");
    if (!$kept) {
        fclose($f);
    }
}
for ($i = 0; $i < 20000; $i++) {
    write_log("order $i: " . hash_pbkdf2("md5", "order $i", "s", 40));
}
unlink("error.log");
echo "done\n";

<?php
// Asks for 60 jobs.
$kept = null;
function job($i) {
    global $argv, $kept;
    $c = $kept;
    if (!$c) {
        $c = stream_socket_client("tcp://127.0.0.1:$argv[1]");
        fgets($c);
    }
    fwrite($c, "$i\n");
    $answer = (int) fgets($c);
    if ($argv[2] === "kept") {
        $kept = $c;
    } else {
        fclose($c);
    }
    return $answer;
}
$sum = 0;
for ($i = 0; $i < 60; $i++) {
    $sum += job($i);
}
echo $sum, "\n";

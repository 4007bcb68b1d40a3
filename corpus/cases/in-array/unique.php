<?php
function unique_by_search(array $all): array {
    $kept = [];
    foreach ($all as $one) {
        if (!in_array($one, $kept, true)) {
            $kept[] = $one;
        }
    }
    return $kept;
}

function unique_by_keys(array $all): array {
    $kept = [];
    foreach ($all as $one) {
        $kept[$one] = true;
    }
    return array_keys($kept);
}

$all = [];
for ($i = 0; $i < 14000; $i++) {
    $all[] = sprintf("user%05d@mail.example.org", ($i * 7919) % 9001);
}
$kept = $argv[1] === "search" ? unique_by_search($all) : unique_by_keys($all);
$sum = 0;
for ($i = 0; $i < 2000000; $i++) {
    $sum = ($sum * 31 + $i) % 1000003;
}
echo count($kept), " ", $sum, "\n";
